// The transport over MQTT 5, with Paho: the only file that includes it is mqtt_transport.cc.
//
// Clean start, session expiry 0: the session ends with the connection, so that a command sent
// while the service was away is never acted on later. The last will says offline. Reconnecting is
// our own (Maintain): 1 s, 2 s, 4 s ... 30 s, without end. No Paho buffering, no Paho consumer
// queue (it is unbounded). Paho's threads run the callbacks; these copy and push. A connection
// whose subscriptions the broker does not confirm in time is dropped: a service must not be deaf.
//
// Thread: the engine thread, except for the callbacks.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "service/transport.h"

namespace service {

struct MqttOptions {
  std::string url;  // tcp://host:port or ssl://host:port
  std::string client_id;
  std::string username;  // empty: anonymous
  std::string password;
  std::string ca_file;           // PEM; empty: the system's
  std::string certificate_file;  // PEM; empty: no client certificate
  std::string key_file;          // PEM
  int keep_alive_seconds = 30;
  std::uint32_t packet_bytes_max = 256 * 1024;  // the broker drops larger ones
  std::string will_topic;
  std::string will_payload;
  bool allow_insecure_password = false;
  bool wants_retained = false;  // a command that was kept from yesterday is not wanted
};

// Whether the options may be used. Returns: a sentence with the way out: an address that isn't one,
// or a password that would cross a network in the clear.
[[nodiscard]] std::expected<void, std::string> CheckMqttOptions(const MqttOptions& options);

class MqttTransport : public Transport {
 public:
  // Requires: CheckMqttOptions(options) (asserted). Connects at the first Maintain.
  MqttTransport(const MqttOptions& options, Callbacks callbacks);
  ~MqttTransport() override;

  std::chrono::steady_clock::time_point Maintain(
      std::chrono::steady_clock::time_point now) override;
  bool connected() const override;
  std::uint64_t connection_count() const override;
  std::string trouble() const override;
  void Subscribe(const std::vector<std::string>& filters) override;
  PublishId Publish(const OutboundMessage& message) override;
  bool Acknowledged(PublishId id) const override;
  void Close(std::chrono::milliseconds patience) override;

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace service
