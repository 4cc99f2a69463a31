// A broker in memory: what was published is a list, connections come and go as the test says.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "service/transport.h"

namespace support {

class FakeTransport : public service::Transport {
 public:
  std::chrono::steady_clock::time_point Maintain(std::chrono::steady_clock::time_point) override {
    return std::chrono::steady_clock::time_point::max();
  }
  bool connected() const override { return connected_; }
  std::uint64_t connection_count() const override { return connection_count_; }
  std::string trouble() const override { return connected_ ? "" : "The fake broker is away."; }
  void Subscribe(const std::vector<std::string>& filters) override { subscribed = filters; }
  service::PublishId Publish(const service::OutboundMessage& message) override;
  bool Acknowledged(service::PublishId id) const override;
  void Close(std::chrono::milliseconds) override { connected_ = false; }

  void Connect();
  void Disconnect() { connected_ = false; }
  void AcknowledgeAll();

  std::vector<std::string> On(const std::string& topic) const;

  bool acknowledges_at_once = true;
  std::size_t in_flight_max = 1000;
  std::vector<std::string> subscribed;
  std::vector<service::OutboundMessage> published;

 private:
  bool connected_ = false;
  std::uint64_t connection_count_ = 0;
  std::uint64_t next_id_ = 1;
  std::set<std::uint64_t> in_flight_;
  std::set<std::uint64_t> acknowledged_;
};

}  // namespace support
