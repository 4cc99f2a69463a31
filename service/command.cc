#include "service/command.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/unicode.h"

namespace service {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::int64_t kTtlMsMax = 600'000;
constexpr std::string_view kNoId = "-";

// Counted before parsing, so that a hostile text never makes a deep tree.
bool IsTooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kJsonDepthMax) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

// One line of printable characters, single blanks, trimmed, NFC. Nothing: not UTF-8.
std::optional<std::string> OneLine(std::string_view text) {
  const auto normal = engine::NormalizeNfc(text);
  if (!normal) return std::nullopt;
  std::string out;
  for (const char32_t code_point : engine::DecodeUtf8(*normal)) {
    if (engine::IsPrintable(code_point) && !engine::IsWhiteSpace(code_point)) {
      engine::AppendUtf8(code_point, out);
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

// The fields of a request. The first problem is kept.
struct Fields {
  explicit Fields(const json& given) : object(given) {}

  std::string Text(const char* key, std::size_t bytes_max) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return {};
    if (!found->is_string()) return Fail(std::string(key) + " is not a text"), std::string();
    const auto& value = found->get_ref<const std::string&>();
    if (value.size() > bytes_max) {
      return Fail(std::string(key) + " is longer than " + std::to_string(bytes_max) + " bytes"),
             std::string();
    }
    return value;
  }

  std::optional<std::int64_t> Integer(const char* key, std::int64_t min, std::int64_t max) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return std::nullopt;
    const bool fits = found->is_number_integer() &&
                      !(found->is_number_unsigned() &&
                        found->get<std::uint64_t>() > static_cast<std::uint64_t>(max));
    if (!fits || found->get<std::int64_t>() < min || found->get<std::int64_t>() > max) {
      Fail(std::string(key) + " is not a whole number from " + std::to_string(min) + " to " +
           std::to_string(max));
      return std::nullopt;
    }
    return found->get<std::int64_t>();
  }

  void Fail(const std::string& sentence) {
    if (problem.empty()) problem = "In the request, " + sentence + ".";
  }

  const json& object;
  std::string problem;
};

// How long the command may still wait: what is left of its time to live and of the message's.
milliseconds TimeLeft(const InboundMessage& message, milliseconds ttl,
                      std::optional<std::int64_t> sent_at) {
  milliseconds left = ttl;
  // A clock that runs ahead of ours makes no command younger than new.
  if (sent_at) left -= milliseconds(std::max<std::int64_t>(0, message.received_unix_ms - *sent_at));
  if (message.expiry_seconds) {
    left = std::min(left, milliseconds(std::int64_t{1000} * *message.expiry_seconds));
  }
  return left;
}

}  // namespace

std::string_view CommandErrorWord(CommandError error) {
  constexpr std::array<std::string_view, 10> kWords = {
      "busy",        "expired", "duplicate",           "not_ready", "too_long",
      "bad_request", "denied",  "unsupported_version", "timeout",   "internal"};
  const auto index = static_cast<std::size_t>(error);
  assert(index < kWords.size());
  return kWords[index];
}

CommandReader::CommandReader(Topics topics, const CommandOptions& options)
    : topics_(std::move(topics)),
      options_(options),
      started_unix_ms_(std::chrono::duration_cast<milliseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count()) {}

Inbound CommandReader::Read(const InboundMessage& message) const {
  const Topics::Meaning meaning = topics_.Read(message.topic);
  if (meaning.kind == Topics::Kind::kUnknown) return Ignored{"topic"};
  if (meaning.kind == Topics::Kind::kHomeAssistantStatus) {
    if (message.payload == "online") return HomeAssistantStarted{};
    return Ignored{"status"};
  }
  if (meaning.kind == Topics::Kind::kOwnStatus) return OtherService{message.payload == "online"};
  if (message.retained) return Ignored{"retained"};
  if (meaning.kind == Topics::Kind::kCancel) return Cancellation{meaning.client, meaning.id};
  if (meaning.kind == Topics::Kind::kAsk) return ReadAsk(message);
  return ReadRequest(message, meaning.client);
}

ReplyAddress CommandReader::AddressOf(const InboundMessage& message, std::string_view client,
                                      std::string_view id) const {
  if (topics_.MayRespondTo(message.response_topic, client)) {
    return {message.response_topic, message.correlation};
  }
  return {topics_.Response(client, id), message.correlation};
}

Inbound CommandReader::ReadAsk(const InboundMessage& message) const {
  Command command;
  command.client = "ask";
  command.id =
      "ask-" + std::to_string(started_unix_ms_) + "-" + std::to_string(ask_count_.fetch_add(1) + 1);
  command.mode = options_.mode;
  command.is_ask = true;
  command.reply = AddressOf(message, command.client, command.id);
  command.received = message.received;
  const milliseconds left = TimeLeft(message, options_.ttl, std::nullopt);
  command.deadline = message.received + left;
  if (left.count() <= 0) {
    return Rejected{command.id, command.reply, CommandError::kExpired,
                    "The command came too late."};
  }
  return WithText(std::move(command), message.payload);
}

Inbound CommandReader::ReadRequest(const InboundMessage& message, const std::string& client) const {
  const auto reject = [&](CommandError error, std::string sentence, std::string_view id = kNoId) {
    return Rejected{std::string(id), AddressOf(message, client, id), error, std::move(sentence)};
  };
  if (message.payload.size() > kRequestBytesMax) {
    return reject(CommandError::kTooLong,
                  "The request has " + std::to_string(message.payload.size()) + " bytes; at most " +
                      std::to_string(kRequestBytesMax) + " are taken.");
  }
  if (IsTooDeep(message.payload)) {
    return reject(CommandError::kBadRequest, "The request is nested more than " +
                                                 std::to_string(kJsonDepthMax) + " levels deep.");
  }
  const json parsed = json::parse(message.payload, nullptr, false);
  if (!parsed.is_object()) {
    return reject(
        CommandError::kBadRequest,
        R"(The request is no JSON object in UTF-8, such as {"v":1,"id":"1","text":"…"}.)");
  }
  Fields fields(parsed);
  Command command;
  command.id = fields.Text("id", kTopicNameBytesMax);
  if (!IsCommandId(command.id)) {
    return reject(CommandError::kBadRequest,
                  "The request needs an id of 1 to 64 letters, digits, '_', '-', '.' and ':'.");
  }
  const auto version = fields.Integer("v", 0, INT32_MAX);
  const std::string mode = fields.Text("mode", kFieldBytesMax);
  const std::string text = fields.Text("text", kRequestBytesMax);
  const auto area = OneLine(fields.Text("area", kFieldBytesMax));
  const auto ttl = fields.Integer("ttl_ms", 1, kTtlMsMax);
  const auto sent_at = fields.Integer("sent_at", 0, INT64_MAX);
  for (const char* key : {"session", "lang", "user"}) fields.Text(key, kFieldBytesMax);
  if (!mode.empty() && mode != "execute" && mode != "return") {
    fields.Fail("mode is neither execute nor return");
  }
  if (!fields.problem.empty() || !area) {
    return reject(CommandError::kBadRequest, fields.problem, command.id);
  }
  if (version.value_or(1) != 1) {
    return reject(CommandError::kUnsupportedVersion,
                  "Requests of version " + std::to_string(*version) + " are not known, only 1.",
                  command.id);
  }
  const milliseconds left = TimeLeft(message, ttl ? milliseconds(*ttl) : options_.ttl, sent_at);
  if (left.count() <= 0) {
    return reject(CommandError::kExpired, "The command came too late.", command.id);
  }
  command.client = client;
  command.area = *area;
  command.mode = mode.empty()        ? options_.mode
                 : mode == "execute" ? ActionMode::kExecute
                                     : ActionMode::kReturn;
  command.reply = AddressOf(message, client, command.id);
  command.received = message.received;
  command.deadline = message.received + left;
  return WithText(std::move(command), text);
}

Inbound CommandReader::WithText(Command command, std::string_view text) const {
  const auto reject = [&command](CommandError error, std::string sentence) {
    return Rejected{command.id, command.reply, error, std::move(sentence)};
  };
  if (text.size() > options_.utterance_bytes_max) {
    return reject(CommandError::kTooLong,
                  "The command has " + std::to_string(text.size()) + " bytes; at most " +
                      std::to_string(options_.utterance_bytes_max) + " are taken.");
  }
  auto line = OneLine(text);
  if (!line) return reject(CommandError::kBadRequest, "The command is not UTF-8.");
  if (line->empty()) return reject(CommandError::kBadRequest, "The command has no words.");
  command.text = std::move(*line);
  return command;
}

Inbound BusyInstead(Inbound inbound) {
  if (auto* command = std::get_if<Command>(&inbound)) {
    return Rejected{command->id, command->reply, CommandError::kBusy,
                    "Too many commands are waiting. Try again in a moment."};
  }
  return inbound;
}

}  // namespace service
