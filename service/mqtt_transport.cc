#include "service/mqtt_transport.h"

#include <arpa/inet.h>
#include <mqtt/async_client.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

namespace service {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kInFlightMax = 256;
constexpr milliseconds kFirstRetry{1000};
constexpr milliseconds kLongestRetry{30000};
constexpr std::chrono::seconds kConnectPatience{10};
constexpr std::chrono::seconds kSubscribePatience{5};

enum class Phase { kApart, kConnecting, kConnected };

struct HostPort {
  std::string_view scheme;
  std::string_view host;
  std::string_view port;
};

HostPort Split(std::string_view url) {
  HostPort out;
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return out;
  out.scheme = url.substr(0, scheme_end);
  url.remove_prefix(scheme_end + 3);
  const std::size_t colon = url.rfind(':');
  if (colon == std::string_view::npos || url.ends_with(']')) return out;
  out.host = url.substr(0, colon);
  out.port = url.substr(colon + 1);
  return out;
}

// A name that only begins like an address ("127.0.0.1.example.net") may be anywhere.
bool IsLoopback(std::string_view host) {
  if (host.starts_with("127.")) {
    return host.find_first_not_of("0123456789.") == std::string_view::npos;
  }
  return host == "localhost" || host == "[::1]";
}

// Paho 1.2 gives the broker's reason as the return code.
std::string RefusalSentence(int reason, int code, const std::string& url) {
  const std::string at = "The broker at " + url;
  if (reason <= 0x80 && code > 0x80 && code < 0xff) reason = code;
  switch (reason) {
    case 0x84:
      return at + " does not speak MQTT 5; use one that does (Mosquitto 2.0, for example).";
    case 0x85:
      return at + " does not accept this client id; set another mqtt.node.";
    case 0x86:
      return at + " refused user name or password; check mqtt.username and mqtt.password_file.";
    case 0x87:
      return at + " does not let this user in; check mqtt.username, mqtt.password_file and the " +
             "broker's access list.";
    case 0x88:
    case 0x89:
      return at + " is busy or unavailable; trying again.";
    default:
      break;
  }
  if (reason > 0x80 && reason < 0xff) {
    return at + " refused the connection (MQTT reason " + std::to_string(reason) +
           "); trying again.";
  }
  return at + " can't be reached (Paho code " + std::to_string(code) +
         "); check mqtt.url and that the broker runs; trying again.";
}

mqtt::properties PropertiesOf(const OutboundMessage& message) {
  mqtt::properties out;
  if (message.expiry_seconds) {
    out.add({mqtt::property::MESSAGE_EXPIRY_INTERVAL,
             static_cast<std::int32_t>(std::min(*message.expiry_seconds, 0x7fffffffU))});
  }
  if (!message.correlation.empty()) {
    out.add({mqtt::property::CORRELATION_DATA, message.correlation});
  }
  if (!message.response_topic.empty()) {
    out.add({mqtt::property::RESPONSE_TOPIC, message.response_topic});
  }
  if (!message.content_type.empty()) {
    out.add({mqtt::property::CONTENT_TYPE, message.content_type});
  }
  return out;
}

}  // namespace

std::expected<void, std::string> CheckMqttOptions(const MqttOptions& options) {
  const HostPort at = Split(options.url);
  const bool scheme_known = at.scheme == "tcp" || at.scheme == "ssl";
  const bool port_ok = !at.port.empty() && at.port.size() <= 5 &&
                       at.port.find_first_not_of("0123456789") == std::string_view::npos &&
                       std::stoi(std::string(at.port)) >= 1 &&
                       std::stoi(std::string(at.port)) <= 65535;
  if (!scheme_known || at.host.empty() || !port_ok) {
    return std::unexpected("mqtt.url is \"" + options.url +
                           "\"; it has to be tcp://HOST:PORT or ssl://HOST:PORT, for example "
                           "tcp://localhost:1883.");
  }
  if (at.scheme == "tcp" && !options.password.empty() && !IsLoopback(at.host) &&
      !options.allow_insecure_password) {
    return std::unexpected("mqtt.url is \"" + options.url +
                           "\": the password would cross the network in the clear. Use "
                           "ssl://, or set mqtt.allow_insecure_password to true.");
  }
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return std::unexpected(
        "mqtt.certificate_file and mqtt.key_file belong together; set both or neither.");
  }
  return {};
}

struct MqttTransport::Connection : public mqtt::callback, public mqtt::iaction_listener {
  // Slot id % kInFlightMax holds the id of the message that it tells of last.
  using Slots = std::array<std::atomic<std::uint64_t>, kInFlightMax>;

  Connection(MqttOptions given, Callbacks to_call)
      : options(std::move(given)),
        callbacks(std::move(to_call)),
        deliveries(*this),
        subscriptions(*this),
        client(options.url, options.client_id,
               mqtt::create_options_builder().mqtt_version(MQTTVERSION_5).finalize()) {
    client.set_callback(*this);
    client.set_disconnected_handler([this](const mqtt::properties&, mqtt::ReasonCode) { Lost(); });
  }

  // The broker's answers to publishes. The context of each is its PublishId.
  struct Deliveries : public mqtt::iaction_listener {
    explicit Deliveries(Connection& owner) : connection(owner) {}
    // The broker's access list forbids the topic, or the connection is gone: it takes no room.
    void on_failure(const mqtt::token& token) override { Note(token, connection.refused); }
    void on_success(const mqtt::token& token) override { Note(token, connection.acknowledged); }
    void Note(const mqtt::token& token, Slots& slots) const {
      const auto id = reinterpret_cast<std::uintptr_t>(token.get_user_context());
      slots[id % kInFlightMax].store(id, std::memory_order_release);
      connection.callbacks.acknowledged();
    }
    Connection& connection;
  };

  // The broker's answers to subscriptions.
  struct Subscriptions : public mqtt::iaction_listener {
    explicit Subscriptions(Connection& owner) : connection(owner) {}
    void on_failure(const mqtt::token&) override {}  // like no answer: the patience ends
    void on_success(const mqtt::token&) override {
      connection.subscriptions_missing.fetch_sub(1);
      connection.callbacks.acknowledged();
    }
    Connection& connection;
  };

  // The answers to connect.
  void on_success(const mqtt::token&) override {}
  void on_failure(const mqtt::token& token) override {
    failure_reason.store(static_cast<int>(token.get_reason_code()));
    failure_code.store(token.get_return_code());
    phase.store(Phase::kApart);
    callbacks.connection_changed();
  }

  void connected(const std::string&) override {
    SendAtOnce();
    failure_reason.store(0);
    failure_code.store(0);
    count.fetch_add(1);
    phase.store(Phase::kConnected);
    callbacks.connection_changed();
  }
  void connection_lost(const std::string&) override { Lost(); }
  void Lost() {
    if (phase.exchange(Phase::kApart) != Phase::kApart) callbacks.connection_changed();
  }

  // Whether the slot's message still waits for the broker's answer.
  bool IsUnderWay(std::size_t slot) const {
    const std::uint64_t id = in_flight[slot];
    return id != 0 && acknowledged[slot].load(std::memory_order_acquire) != id &&
           refused[slot].load(std::memory_order_acquire) != id;
  }

  void Drop();
  void SendAtOnce() const;
  void message_arrived(mqtt::const_message_ptr message) override;
  mqtt::connect_options ConnectOptions() const;

  const MqttOptions options;
  const Callbacks callbacks;
  Deliveries deliveries;
  Subscriptions subscriptions;
  std::atomic<Phase> phase{Phase::kApart};
  std::atomic<std::uint64_t> count{0};
  std::atomic<int> subscriptions_missing{0};
  std::atomic<int> failure_reason{0};
  std::atomic<int> failure_code{0};
  Slots acknowledged{};
  Slots refused{};

  // The engine thread's own.
  std::uint64_t next_id = 1;
  std::array<std::uint64_t, kInFlightMax> in_flight{};  // 0: the slot is free
  std::uint64_t in_flight_connection = 0;
  SteadyClock::time_point next_try{};
  SteadyClock::time_point connecting_since{};
  milliseconds retry = kFirstRetry;
  std::uint64_t retry_reset_at = 0;
  SteadyClock::time_point subscribe_until{};
  std::string exception_text;

  mqtt::async_client client;  // the last: its threads end before what they call goes
};

void MqttTransport::Connection::Drop() {
  try {
    client.disconnect(0);
  } catch (const std::exception&) {  // it is gone already
  }
  subscriptions_missing.store(0);
  Lost();
}

// Paho leaves Nagle's algorithm on, which holds a small packet back until the other side has
// acknowledged the one before, up to 40 ms: longer than many a command takes. It also keeps its
// socket to itself, so this looks for ours by the port that it is connected to.
void MqttTransport::Connection::SendAtOnce() const {
  constexpr int kDescriptorsMax = 256;
  const std::string port(Split(options.url).port);
  for (int descriptor = 0; descriptor < kDescriptorsMax; ++descriptor) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    in_port_t peer_port = 0;
    if (peer.ss_family == AF_INET) {
      peer_port = reinterpret_cast<const sockaddr_in&>(peer).sin_port;
    } else if (peer.ss_family == AF_INET6) {
      peer_port = reinterpret_cast<const sockaddr_in6&>(peer).sin6_port;
    }
    if (std::to_string(ntohs(peer_port)) != port) continue;
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
}

void MqttTransport::Connection::message_arrived(mqtt::const_message_ptr message) {
  if (!message) return;
  InboundMessage in;
  in.topic = message->get_topic();
  in.payload = message->get_payload_str();
  in.retained = message->is_retained();
  const mqtt::properties& properties = message->get_properties();
  if (properties.contains(mqtt::property::MESSAGE_EXPIRY_INTERVAL)) {
    in.expiry_seconds =
        mqtt::get<std::uint32_t>(properties, mqtt::property::MESSAGE_EXPIRY_INTERVAL);
  }
  if (properties.contains(mqtt::property::RESPONSE_TOPIC)) {
    in.response_topic = mqtt::get<std::string>(properties, mqtt::property::RESPONSE_TOPIC);
  }
  if (properties.contains(mqtt::property::CORRELATION_DATA)) {
    in.correlation = mqtt::get<std::string>(properties, mqtt::property::CORRELATION_DATA);
  }
  in.received = SteadyClock::now();
  in.received_unix_ms =
      std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  callbacks.received(std::move(in));
}

mqtt::connect_options MqttTransport::Connection::ConnectOptions() const {
  mqtt::connect_options out;
  out.set_mqtt_version(MQTTVERSION_5);
  out.set_clean_start(true);
  out.set_keep_alive_interval(options.keep_alive_seconds);
  out.set_connect_timeout(static_cast<int>(kConnectPatience.count()));
  out.set_max_inflight(static_cast<int>(kInFlightMax));
  out.set_automatic_reconnect(false);
  mqtt::properties properties;
  properties.add({mqtt::property::SESSION_EXPIRY_INTERVAL, 0});
  properties.add(
      {mqtt::property::MAXIMUM_PACKET_SIZE, static_cast<std::int32_t>(options.packet_bytes_max)});
  out.set_properties(properties);
  if (!options.username.empty()) out.set_user_name(options.username);
  if (!options.password.empty()) out.set_password(options.password);
  if (!options.will_topic.empty()) {
    out.set_will(mqtt::will_options(options.will_topic, options.will_payload.data(),
                                    options.will_payload.size(), 1, true));
  }
  if (Split(options.url).scheme == "ssl") {
    mqtt::ssl_options tls;
    if (!options.ca_file.empty()) tls.set_trust_store(options.ca_file);
    if (!options.certificate_file.empty()) {
      tls.set_key_store(options.certificate_file);
      tls.set_private_key(options.key_file);
    }
    tls.set_enable_server_cert_auth(true);
    tls.set_verify(true);
    out.set_ssl(tls);
  }
  return out;
}

MqttTransport::MqttTransport(const MqttOptions& options, Callbacks callbacks) {
  assert(CheckMqttOptions(options).has_value());
  connection_ = std::make_unique<Connection>(options, std::move(callbacks));
}

MqttTransport::~MqttTransport() {
  try {
    connection_->client.disable_callbacks();
  } catch (const std::exception&) {  // nothing to do for a client that is going away
  }
}

SteadyClock::time_point MqttTransport::Maintain(SteadyClock::time_point now) {
  Connection& at = *connection_;
  if (at.phase.load() == Phase::kConnected && !at.client.is_connected()) at.Lost();
  if (at.phase.load() == Phase::kConnected) {
    if (at.retry_reset_at != at.count.load()) {
      at.retry_reset_at = at.count.load();
      at.retry = kFirstRetry;
      at.next_try = now;  // a lost connection is tried again at once
    }
    if (at.subscriptions_missing.load() <= 0) return SteadyClock::time_point::max();
    if (now < at.subscribe_until) return at.subscribe_until;
    at.Drop();
  }
  if (at.phase.load() == Phase::kConnecting) {
    const auto patience_ends = at.connecting_since + 2 * kConnectPatience;
    if (now < patience_ends) return patience_ends;
    at.phase.store(Phase::kApart);
  }
  if (now < at.next_try) return at.next_try;
  at.next_try = now + at.retry;
  at.retry = std::min(2 * at.retry, kLongestRetry);
  at.connecting_since = now;
  at.phase.store(Phase::kConnecting);
  try {
    at.exception_text.clear();
    at.client.connect(at.ConnectOptions(), nullptr, at);
    return now + 2 * kConnectPatience;
  } catch (const std::exception& failure) {
    at.exception_text = failure.what();
    at.phase.store(Phase::kApart);
    return at.next_try;
  }
}

bool MqttTransport::connected() const { return connection_->phase.load() == Phase::kConnected; }

std::uint64_t MqttTransport::connection_count() const { return connection_->count.load(); }

std::string MqttTransport::trouble() const {
  const Connection& at = *connection_;
  if (connected()) return {};
  if (!at.exception_text.empty()) {
    return "The broker at " + at.options.url + " can't be used: " + at.exception_text + ".";
  }
  if (at.failure_reason.load() == 0 && at.failure_code.load() == 0) {
    if (at.count.load() == 0) return {};  // the first try is under way
    return "The connection to the broker at " + at.options.url + " was lost; trying again.";
  }
  return RefusalSentence(at.failure_reason.load(), at.failure_code.load(), at.options.url);
}

void MqttTransport::Subscribe(const std::vector<std::string>& filters) {
  if (!connected()) return;
  // The retain flag stays, so that a retained command can be told; what we publish ourselves is not
  // ours to answer.
  const mqtt::subscribe_options options(true, true,
                                        connection_->options.wants_retained
                                            ? mqtt::subscribe_options::SEND_RETAINED_ON_SUBSCRIBE
                                            : mqtt::subscribe_options::DONT_SEND_RETAINED);
  try {
    connection_->subscriptions_missing.store(static_cast<int>(filters.size()));
    connection_->subscribe_until = SteadyClock::now() + kSubscribePatience;
    for (const std::string& filter : filters) {
      connection_->client.subscribe(filter, 1, nullptr, connection_->subscriptions, options);
    }
  } catch (const std::exception& failure) {
    connection_->exception_text = failure.what();
    connection_->Lost();
  }
}

PublishId MqttTransport::Publish(const OutboundMessage& message) {
  Connection& at = *connection_;
  if (!connected()) return kNotPublished;
  if (at.in_flight_connection != at.count.load()) {
    at.in_flight_connection = at.count.load();
    at.in_flight.fill(0);
  }
  const std::uint64_t id = at.next_id;
  const std::size_t slot = id % kInFlightMax;
  if (at.IsUnderWay(slot)) return kNotPublished;
  try {
    const auto wire = mqtt::make_message(message.topic, message.payload.data(),
                                         message.payload.size(), message.qos, message.retained);
    wire->set_properties(PropertiesOf(message));
    at.client.publish(wire, reinterpret_cast<void*>(static_cast<std::uintptr_t>(id)),
                      at.deliveries);
  } catch (const std::exception&) {
    return kNotPublished;
  }
  at.in_flight[slot] = id;
  ++at.next_id;
  return PublishId{id};
}

bool MqttTransport::Acknowledged(PublishId id) const {
  const auto value = static_cast<std::uint64_t>(id);
  assert(value != 0);
  return connection_->acknowledged[value % kInFlightMax].load(std::memory_order_acquire) == value;
}

void MqttTransport::Close(milliseconds patience) {
  Connection& at = *connection_;
  const auto until = SteadyClock::now() + patience;
  const auto all_answered = [&at] {
    for (std::size_t slot = 0; slot < kInFlightMax; ++slot) {
      if (at.IsUnderWay(slot)) return false;
    }
    return true;
  };
  while (connected() && !all_answered() && SteadyClock::now() < until) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  try {
    at.client.disable_callbacks();
    if (at.client.is_connected()) {
      at.client.disconnect(static_cast<int>(patience.count()))->wait_for(patience);
    }
  } catch (const std::exception&) {  // the connection ends in any case
  }
  at.phase.store(Phase::kApart);
}

}  // namespace service
