// The events that answer one command: JSON, numbered, on one topic.
//
//   {"v":1,"id":…,"seq":n,"type":"accepted|delta|call|confirm|final|error", …}
//
// Every accepted command ends with exactly one final or error. Deltas may be lost (QoS 0), so final
// carries the whole text.
//
// Thread: the engine thread. Limit: the broker forgets an event after kReplyExpirySeconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "integrations/integration.h"
#include "service/command.h"
#include "service/transport.h"

namespace service {

constexpr std::uint32_t kReplyExpirySeconds = 60;

// How an action ended.
enum class ActionOutcome {
  kDone,         // the broker has taken the message to the device
  kReturned,     // the client carries it out
  kConfirm,      // waits for a yes; nothing was done
  kDenied,       // the policy forbids it
  kUnreachable,  // the device has no command topic
  kFailed,       // there was no broker to take it in time
  kUnknown,      // the connection was lost while it was on its way; it is not sent twice
};
std::string_view ActionOutcomeWord(ActionOutcome outcome);

struct FinalReply {
  std::string text;  // what to say, not empty
  std::vector<integrations::Action> actions;
  std::vector<ActionOutcome> outcomes;  // as actions
  std::string finish;                   // "complete", "ask" or "cancelled"
  engine::Completion::Usage usage;
  double queue_ms = 0;
  double ttft_ms = 0;
  double total_ms = 0;
  std::string prefix_version;
  int prefix_tokens = 0;
};

class Reply {
 public:
  Reply(std::string id, ReplyAddress address) : id_(std::move(id)), address_(std::move(address)) {}

  OutboundMessage Accepted();
  OutboundMessage Delta(std::string_view text);  // QoS 0
  OutboundMessage Call(const integrations::Action& action);
  OutboundMessage Confirm(const integrations::Action& action, std::string_view question);
  OutboundMessage Final(const FinalReply& final_reply);
  OutboundMessage Error(CommandError error, std::string_view sentence);

  // An event that was made before, to the address of a later command with the same id.
  static OutboundMessage Again(const std::string& payload, const ReplyAddress& address);

 private:
  std::string id_;
  ReplyAddress address_;
  int sequence_ = 0;
};

// The payload of event/executed and event/denied: no words that a person said.
std::string ActionEvent(const integrations::Action& action, ActionOutcome outcome);

}  // namespace service
