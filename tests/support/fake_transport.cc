#include "tests/support/fake_transport.h"

namespace support {

service::PublishId FakeTransport::Publish(const service::OutboundMessage& message) {
  if (!connected_ || in_flight_.size() >= in_flight_max) return service::kNotPublished;
  published.push_back(message);
  const std::uint64_t id = next_id_++;
  if (acknowledges_at_once || message.qos == 0) {
    acknowledged_.insert(id);
  } else {
    in_flight_.insert(id);
  }
  return service::PublishId{id};
}

bool FakeTransport::Acknowledged(service::PublishId id) const {
  return acknowledged_.contains(static_cast<std::uint64_t>(id));
}

void FakeTransport::Connect() {
  connected_ = true;
  ++connection_count_;
  in_flight_.clear();  // what was on its way is lost
}

void FakeTransport::AcknowledgeAll() {
  acknowledged_.insert(in_flight_.begin(), in_flight_.end());
  in_flight_.clear();
}

std::vector<std::string> FakeTransport::On(const std::string& topic) const {
  std::vector<std::string> payloads;
  for (const auto& message : published) {
    if (message.topic == topic) payloads.push_back(message.payload);
  }
  return payloads;
}

}  // namespace support
