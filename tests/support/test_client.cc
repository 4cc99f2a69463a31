#include "tests/support/test_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace support {
namespace {

using SteadyClock = std::chrono::steady_clock;

service::MqttOptions OptionsFor(const std::string& url, const std::string& client_id) {
  service::MqttOptions options;
  options.url = url;
  options.client_id = client_id;
  options.wants_retained = true;
  return options;
}

SteadyClock::time_point After(double seconds) {
  return SteadyClock::now() +
         std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

TestClient::TestClient(const std::string& url, const std::string& client_id,
                       std::vector<std::string> filters)
    : filters_(std::move(filters)),
      queue_(100'000, 1),
      transport_(
          OptionsFor(url, client_id),
          {[this](service::InboundMessage message) { (void)queue_.TryPush(std::move(message)); },
           [this] { queue_.Raise(service::Signal::kConnection); },
           [this] { queue_.Raise(service::Signal::kAcknowledged); }}) {}

TestClient::~TestClient() { transport_.Close(std::chrono::milliseconds(200)); }

void TestClient::Turn(SteadyClock::time_point until) {
  const auto maintain = transport_.Maintain(SteadyClock::now());
  if (transport_.connected() && transport_.connection_count() != connection_count_) {
    connection_count_ = transport_.connection_count();
    transport_.Subscribe(filters_);
  }
  for (auto& message : queue_.WaitUntil(std::min(until, maintain)).items) {
    arrived_.push_back(std::move(message));
  }
}

bool TestClient::WaitUntil(double seconds, const std::function<bool()>& done) {
  const auto until = After(seconds);
  while (!done()) {
    if (SteadyClock::now() >= until) return false;
    Turn(until);
  }
  return true;
}

void TestClient::Listen(double seconds) {
  WaitUntil(seconds, [] { return false; });
}

bool TestClient::Connect(double seconds) {
  const bool connected = WaitUntil(seconds, [this] { return transport_.connected(); });
  if (connected) Turn(SteadyClock::now());
  return connected;
}

void TestClient::Publish(const std::string& topic, const std::string& payload) {
  service::OutboundMessage message;
  message.topic = topic;
  message.payload = payload;
  Publish(message);
}

void TestClient::Publish(const service::OutboundMessage& message) {
  (void)transport_.Publish(message);
}

std::vector<std::string> TestClient::On(const std::string& topic) const {
  std::vector<std::string> payloads;
  for (const auto& message : arrived_) {
    if (message.topic == topic) payloads.push_back(message.payload);
  }
  return payloads;
}

std::vector<std::string> TestClient::Events(const std::string& response_topic,
                                            const std::string& type) const {
  std::vector<std::string> events;
  for (const std::string& payload : On(response_topic)) {
    const auto event = nlohmann::json::parse(payload);
    if (!type.empty() && event.at("type") != type) continue;
    if (std::find(events.begin(), events.end(), payload) == events.end()) events.push_back(payload);
  }
  return events;
}

std::optional<std::string> TestClient::Last(const std::string& response_topic) const {
  auto events = Events(response_topic, "final");
  if (events.empty()) events = Events(response_topic, "error");
  if (events.empty()) return std::nullopt;
  return events.back();
}

std::string RequestText(const std::string& id, const std::string& text, const std::string& more) {
  return R"({"v":1,"id":")" + id + R"(","text":")" + text + '"' + (more.empty() ? "" : "," + more) +
         "}";
}

}  // namespace support
