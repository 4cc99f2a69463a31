// The topic tree, <base>/<node>/...: what the service publishes to, listens to, and what a topic
// that arrived means.
//
//   status, state, info, metrics, say      out
//   response/<client>/<id>                 out: the events of one command
//   request/<client>                       in: a command as JSON
//   ask                                    in: a command as plain text
//   cancel/<client>/<id>                   in
//   status                                 in, too: another service that says it is this node
//
// Thread: any; never changes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace service {

// Limit: what may stand for <base>, <node>, <client> and <id>. Letters, digits, '_', '-' and '.';
// ids also ':'. None of them is a wildcard or opens a level.
constexpr std::size_t kTopicNameBytesMax = 64;
bool IsTopicName(std::string_view text);
bool IsCommandId(std::string_view text);

class Topics {
 public:
  enum class Kind { kRequest, kAsk, kCancel, kOwnStatus, kHomeAssistantStatus, kUnknown };
  struct Meaning {
    Kind kind = Kind::kUnknown;
    std::string client;
    std::string id;
  };

  struct Options {
    std::string base = "inglenook";  // IsTopicName (asserted)
    std::string node = "home";       // IsTopicName (asserted)
    std::string home_assistant_prefix = "homeassistant";
    // Where clients may have answers sent to, beside the response topics. {client} is the client.
    std::vector<std::string> response_prefixes = {"{client}/"};
  };
  explicit Topics(const Options& options);

  std::string Own(std::string_view name) const { return root_ + std::string(name); }
  std::string Response(std::string_view client, std::string_view id) const;
  std::string Request(std::string_view client) const;
  std::string Cancel(std::string_view client, std::string_view id) const;

  std::vector<std::string> Subscriptions() const;
  Meaning Read(std::string_view topic) const;

  // Whether a client may have its answers sent to `topic` (MQTT 5 response topic): below the
  // service's response topics or one of the prefixes, so that nobody steers what the service
  // publishes to a device. Never to another topic of the service, nor to Home Assistant's.
  bool MayRespondTo(std::string_view topic, std::string_view client) const;

 private:
  std::string root_;                 // ends in '/'
  std::string home_assistant_root_;  // ends in '/'
  std::vector<std::string> response_prefixes_;
};

}  // namespace service
