// A client of the service in tests: sends requests, keeps everything that arrives.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "service/command_queue.h"
#include "service/mqtt_transport.h"

namespace support {

class TestClient {
 public:
  TestClient(const std::string& url, const std::string& client_id,
             std::vector<std::string> filters);
  ~TestClient();

  // Connects, again if need be, and subscribes on every new connection.
  bool Connect(double seconds);
  bool connected() const { return transport_.connected(); }
  void Publish(const std::string& topic, const std::string& payload);
  void Publish(const service::OutboundMessage& message);
  // Takes what arrives until `done` holds or the time is over. Returns: whether it holds.
  bool WaitUntil(double seconds, const std::function<bool()>& done);
  void Listen(double seconds);

  const std::vector<service::InboundMessage>& arrived() const { return arrived_; }
  // The payloads that came on a topic, in order.
  std::vector<std::string> On(const std::string& topic) const;
  // Events of a command: those of `type`, or all. The same event sent twice counts once.
  std::vector<std::string> Events(const std::string& response_topic,
                                  const std::string& type = "") const;
  // The final or error of a command.
  std::optional<std::string> Last(const std::string& response_topic) const;
  void Forget() { arrived_.clear(); }

 private:
  void Turn(std::chrono::steady_clock::time_point until);

  std::vector<std::string> filters_;
  std::uint64_t connection_count_ = 0;
  service::CommandQueue<service::InboundMessage> queue_;
  service::MqttTransport transport_;
  std::vector<service::InboundMessage> arrived_;
};

// {"v":1,"id":…,"text":…} and more members, such as R"("mode":"return")".
std::string RequestText(const std::string& id, const std::string& text,
                        const std::string& more = "");

}  // namespace support
