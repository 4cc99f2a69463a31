// What the service needs of a broker: subscribe, publish, receive.
//
// One of the two virtual interfaces of the program: the real one is mqtt_transport.h, the other
// lives in the tests. It forgets what a lost connection loses; keeping what must not be lost is
// service/outbox.h. No call waits for the network.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace service {

struct InboundMessage {
  std::string topic;
  std::string payload;
  bool retained = false;
  std::optional<std::uint32_t> expiry_seconds;  // what is left of it
  std::string response_topic;                   // empty: none
  std::string correlation;                      // opaque bytes, sent back as they are
  std::chrono::steady_clock::time_point received;
  std::int64_t received_unix_ms = 0;
};

struct OutboundMessage {
  std::string topic;
  std::string payload;
  int qos = 1;
  bool retained = false;
  std::optional<std::uint32_t> expiry_seconds;
  std::string correlation;
  std::string content_type;    // empty: none
  std::string response_topic;  // empty: none; clients set it, the service does not
};

// Names one published message of one connection. 0 names none.
enum class PublishId : std::uint64_t {};
constexpr PublishId kNotPublished{0};

class Transport {
 public:
  // Thread: both are called on a thread of the transport; they copy and push, nothing else.
  struct Callbacks {
    std::function<void(InboundMessage)> received;
    std::function<void()> connection_changed;
    std::function<void()> acknowledged;
  };

  virtual ~Transport() = default;

  // Begins to connect when there is no connection and the time for the next try has come.
  // Returns: when to call again.
  virtual std::chrono::steady_clock::time_point Maintain(
      std::chrono::steady_clock::time_point now) = 0;
  virtual bool connected() const = 0;
  // Counts connections made; a change means that subscriptions and unacknowledged messages of the
  // earlier one are gone.
  virtual std::uint64_t connection_count() const = 0;
  // Why there is no connection: a sentence with the way out; empty when there is one.
  virtual std::string trouble() const = 0;

  virtual void Subscribe(const std::vector<std::string>& filters) = 0;
  // Returns: kNotPublished when there is no connection or no room for more unacknowledged ones.
  [[nodiscard]] virtual PublishId Publish(const OutboundMessage& message) = 0;
  // Whether the broker has taken the message (QoS 0: whether it was handed to the network).
  virtual bool Acknowledged(PublishId id) const = 0;

  // Sends what is on its way, says good-bye (no last will) and ends the connection.
  virtual void Close(std::chrono::milliseconds patience) = 0;
};

}  // namespace service
