#include "service/reply.h"

#include <array>
#include <cassert>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace service {
namespace {

using nlohmann::ordered_json;

ordered_json Event(const std::string& id, int& sequence, std::string_view type) {
  return {{"v", 1}, {"id", id}, {"seq", sequence++}, {"type", type}};
}

OutboundMessage Message(const std::string& payload, const ReplyAddress& address) {
  OutboundMessage message;
  message.topic = address.topic;
  message.payload = payload;
  message.expiry_seconds = kReplyExpirySeconds;
  message.correlation = address.correlation;
  message.content_type = "application/json";
  return message;
}

OutboundMessage Message(const ordered_json& event, const ReplyAddress& address) {
  // Text that came out of the model is UTF-8; were it not, the event must go out all the same.
  return Message(event.dump(-1, ' ', false, ordered_json::error_handler_t::replace), address);
}

// Numbers are numbers in JSON, so that a client need not read them out of text.
ordered_json Arguments(const integrations::Action& action) {
  ordered_json out = ordered_json::object();
  for (const auto& [name, value] : action.arguments) {
    const bool is_number =
        !value.empty() && value.size() < 10 &&
        value.find_first_not_of("0123456789", value[0] == '-' ? 1 : 0) == std::string::npos &&
        value != "-";
    if (is_number) {
      out[name] = std::stoi(value);
    } else {
      out[name] = value;
    }
  }
  return out;
}

ordered_json Described(const integrations::Action& action) {
  return {{"tool", action.tool}, {"device", action.device}, {"args", Arguments(action)}};
}

double Tenths(double value) { return std::round(value * 10) / 10; }

}  // namespace

std::string_view ActionOutcomeWord(ActionOutcome outcome) {
  constexpr std::array<std::string_view, 7> kWords = {
      "done", "returned", "confirm", "denied", "unreachable", "failed", "unknown"};
  const auto index = static_cast<std::size_t>(outcome);
  assert(index < kWords.size());
  return kWords[index];
}

OutboundMessage Reply::Accepted() { return Message(Event(id_, sequence_, "accepted"), address_); }

OutboundMessage Reply::Delta(std::string_view text) {
  ordered_json event = Event(id_, sequence_, "delta");
  event["text"] = text;
  OutboundMessage message = Message(event, address_);
  message.qos = 0;
  return message;
}

OutboundMessage Reply::Call(const integrations::Action& action) {
  ordered_json event = Event(id_, sequence_, "call");
  event.update(Described(action));
  return Message(event, address_);
}

OutboundMessage Reply::Confirm(const integrations::Action& action, std::string_view question) {
  ordered_json event = Event(id_, sequence_, "confirm");
  event["text"] = question;
  event.update(Described(action));
  return Message(event, address_);
}

OutboundMessage Reply::Final(const FinalReply& final_reply) {
  assert(!final_reply.text.empty());
  assert(final_reply.actions.size() == final_reply.outcomes.size());
  ordered_json event = Event(id_, sequence_, "final");
  event["text"] = final_reply.text;
  event["actions"] = ordered_json::array();
  for (std::size_t i = 0; i < final_reply.actions.size(); ++i) {
    ordered_json action = Described(final_reply.actions[i]);
    action["status"] = ActionOutcomeWord(final_reply.outcomes[i]);
    event["actions"].push_back(std::move(action));
  }
  event["finish"] = final_reply.finish;
  const auto& usage = final_reply.usage;
  event["usage"] = {{"prompt", usage.prompt},
                    {"reused", usage.reused},
                    {"prefilled", usage.prefilled},
                    {"generated", usage.generated},
                    {"forced", usage.forced}};
  event["timing"] = {{"queue_ms", Tenths(final_reply.queue_ms)},
                     {"ttft_ms", Tenths(final_reply.ttft_ms)},
                     {"total_ms", Tenths(final_reply.total_ms)}};
  event["prefix"] = final_reply.prefix_version;
  event["reuse"] = usage.reused >= final_reply.prefix_tokens ? "hit"
                   : usage.reused > 0                        ? "partial"
                                                             : "miss";
  return Message(event, address_);
}

OutboundMessage Reply::Error(CommandError error, std::string_view sentence) {
  ordered_json event = Event(id_, sequence_, "error");
  event["error"] = CommandErrorWord(error);
  event["text"] = sentence;
  return Message(event, address_);
}

std::string ActionEvent(const integrations::Action& action, ActionOutcome outcome) {
  ordered_json event = Described(action);
  event["status"] = ActionOutcomeWord(outcome);
  return event.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

OutboundMessage Reply::Again(const std::string& payload, const ReplyAddress& address) {
  return Message(payload, address);
}

}  // namespace service
