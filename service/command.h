// What a message that arrived means: a command, a cancellation, or why it is neither.
//
// Everything that comes from outside is checked here, before it can reach the engine: length,
// UTF-8, JSON and its depth, version, names, time. Ignored are retained messages (a command of
// yesterday) and topics that are not ours. Duplicates are told apart later, by
// service/command_history.h.
//
// Thread: Read from any; it never changes what it holds but a counter.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "service/topics.h"
#include "service/transport.h"

namespace service {

// Limits on what comes from outside.
constexpr std::size_t kRequestBytesMax = 16 * 1024;
constexpr int kJsonDepthMax = 8;
constexpr std::size_t kFieldBytesMax = 128;  // session, lang, area, user

// Why a command is not carried out. The words of the `error` event.
enum class CommandError {
  kBusy,
  kExpired,
  kDuplicate,
  kNotReady,
  kTooLong,
  kBadRequest,
  kDenied,
  kUnsupportedVersion,
  kTimeout,
  kInternal,
};
std::string_view CommandErrorWord(CommandError error);

enum class ActionMode {
  kExecute,  // the service publishes to the device's command topic
  kReturn,   // the client carries out the calls
};

// Where the events of one command go.
struct ReplyAddress {
  std::string topic;
  std::string correlation;  // MQTT 5 correlation data, as it came
};

struct Command {
  std::string client;
  std::string id;
  std::string text;  // NFC, one line, trimmed, not empty
  std::string area;
  ActionMode mode = ActionMode::kExecute;
  bool is_ask = false;  // plain text: its id is ours, and the answer also goes to `say`
  ReplyAddress reply;
  std::chrono::steady_clock::time_point received;
  std::chrono::steady_clock::time_point deadline;
};

struct Rejected {
  std::string id;  // "-" when the message has none that can be used
  ReplyAddress reply;
  CommandError error = CommandError::kBadRequest;
  std::string sentence;
};

struct Cancellation {
  std::string client;
  std::string id;
};

struct HomeAssistantStarted {};

// Somebody else said on this node's status topic that the node is online, or offline.
struct OtherService {
  bool is_online = false;
};

struct Ignored {
  std::string_view reason;  // one word, for log and metrics
};

using Inbound =
    std::variant<Command, Rejected, Cancellation, HomeAssistantStarted, OtherService, Ignored>;

struct CommandOptions {
  std::size_t utterance_bytes_max = 1000;
  std::chrono::milliseconds ttl{15'000};  // of commands that name none
  ActionMode mode = ActionMode::kExecute;
};

class CommandReader {
 public:
  CommandReader(Topics topics, const CommandOptions& options);

  Inbound Read(const InboundMessage& message) const;

 private:
  Inbound ReadRequest(const InboundMessage& message, const std::string& client) const;
  Inbound ReadAsk(const InboundMessage& message) const;
  ReplyAddress AddressOf(const InboundMessage& message, std::string_view client,
                         std::string_view id) const;
  // Checks the words and completes the command.
  Inbound WithText(Command command, std::string_view text) const;

  const Topics topics_;
  const CommandOptions options_;
  const std::int64_t started_unix_ms_;
  mutable std::atomic<std::uint64_t> ask_count_{0};
};

// What was pushed back because the queue is full.
Inbound BusyInstead(Inbound inbound);

}  // namespace service
