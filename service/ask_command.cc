#include "service/ask_command.h"

#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "service/command_queue.h"
#include "service/config_loader.h"
#include "service/instance.h"
#include "service/mqtt_transport.h"
#include "service/paths.h"

namespace service {
namespace {

using nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kConnectPatience{5};
constexpr std::chrono::seconds kSlack{5};  // beside the time to live

// The parts of an event that people read. What the service sends is checked all the same.
std::string TextOf(const json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double NumberOf(const json& event, const char* group, const char* key) {
  const auto outer = event.find(group);
  if (outer == event.end() || !outer->is_object()) return 0;
  const auto found = outer->find(key);
  return found != outer->end() && found->is_number() ? found->get<double>() : 0;
}

std::string CallOf(const json& event) {
  std::string text = TextOf(event, "device") + ": " + TextOf(event, "tool");
  const auto arguments = event.find("args");
  if (arguments == event.end() || !arguments->is_object()) return text;
  for (const auto& [name, value] : arguments->items()) text += " " + name + "=" + value.dump();
  return text;
}

void PrintFinal(const json& event, bool has_deltas, std::ostream& out) {
  if (has_deltas) {
    out << '\n';
  } else {
    out << TextOf(event, "text") << '\n';
  }
  const auto actions = event.find("actions");
  if (actions != event.end() && actions->is_array()) {
    for (const json& action : *actions) {
      out << "  " << CallOf(action) << " (" << TextOf(action, "status") << ")\n";
    }
  }
  out << "prompt " << NumberOf(event, "usage", "prompt") << ", reused "
      << NumberOf(event, "usage", "reused") << ", prefilled "
      << NumberOf(event, "usage", "prefilled") << ", TTFT "
      << std::round(NumberOf(event, "timing", "ttft_ms")) << " ms, total "
      << std::round(NumberOf(event, "timing", "total_ms")) << " ms\n";
}

// One command on its way.
class Asking {
 public:
  Asking(const Config& config, const AskOptions& options, const MqttOptions& mqtt,
         std::ostream& out)
      : config_(config),
        options_(options),
        out_(out),
        topics_(config.topics),
        client_(mqtt.client_id),
        id_(std::to_string(std::chrono::system_clock::now().time_since_epoch().count())),
        queue_(256, 1),
        transport_(mqtt, {[this](InboundMessage message) {
                            (void)queue_.TryPush(std::move(message.payload));
                          },
                          [this] { queue_.Raise(Signal::kConnection); },
                          [this] { queue_.Raise(Signal::kAcknowledged); }}) {}

  std::expected<bool, std::string> Run();

 private:
  std::expected<void, std::string> Connect();
  void Send();
  // Prints it. Returns: whether it was the last one.
  bool Take(const std::string& payload);

  const Config& config_;
  const AskOptions& options_;
  std::ostream& out_;
  const Topics topics_;
  const std::string client_;
  const std::string id_;
  CommandQueue<std::string> queue_;
  MqttTransport transport_;
  bool is_accepted_ = false;
  bool has_deltas_ = false;
  bool is_answered_ = false;
};

std::expected<void, std::string> Asking::Connect() {
  const auto until = SteadyClock::now() + kConnectPatience;
  while (!transport_.connected()) {
    const auto now = SteadyClock::now();
    if (now >= until) return std::unexpected(transport_.trouble());
    queue_.WaitUntil(std::min(transport_.Maintain(now), until));
  }
  return {};
}

void Asking::Send() {
  json request = {{"v", 1}, {"id", id_}, {"text", options_.text}};
  if (!options_.area.empty()) request["area"] = options_.area;
  if (!options_.mode.empty()) request["mode"] = options_.mode;
  OutboundMessage message;
  message.topic = topics_.Request(client_);
  message.payload = request.dump(-1, ' ', false, json::error_handler_t::replace);
  transport_.Subscribe({topics_.Response(client_, id_), topics_.Response(client_, "-")});
  (void)transport_.Publish(message);  // with no room or connection nobody accepts it, and we say so
}

bool Asking::Take(const std::string& payload) {
  const json event = json::parse(payload, nullptr, false);
  if (!event.is_object()) return false;
  const std::string type = TextOf(event, "type");
  is_accepted_ = true;
  is_answered_ = type == "final";
  if (options_.prints_json) {
    out_ << payload << '\n';
  } else if (type == "delta") {
    has_deltas_ = true;
    out_ << TextOf(event, "text");
  } else if (type == "call") {
    out_ << "call " << CallOf(event) << '\n';
  } else if (type == "confirm") {
    out_ << "confirm " << CallOf(event) << '\n';
  } else if (type == "final") {
    PrintFinal(event, has_deltas_, out_);
  } else if (type == "error") {
    out_ << TextOf(event, "error") << ": " << TextOf(event, "text") << '\n';
  }
  out_.flush();
  return type == "final" || type == "error";
}

std::expected<bool, std::string> Asking::Run() {
  const auto connected = Connect();
  if (!connected) return std::unexpected(connected.error());
  Send();
  const auto begun = SteadyClock::now();
  for (;;) {
    const auto patience = is_accepted_ ? config_.commands.ttl + kSlack : kAcceptPatience;
    const auto until = begun + patience;
    for (const std::string& payload : queue_.WaitUntil(until).items) {
      if (!Take(payload)) continue;
      transport_.Close(std::chrono::seconds(1));
      return is_answered_;
    }
    if (!transport_.connected()) return std::unexpected(transport_.trouble());
    if (SteadyClock::now() < until) continue;
    return std::unexpected(is_accepted_ ? "The command was accepted, but no answer came."
                                        : "Nobody listens on " + topics_.Request(client_) +
                                              ". Is the service with node \"" +
                                              config_.topics.node + "\" running, on this broker?");
  }
}

}  // namespace

std::expected<bool, std::string> Ask(const Config& config, const AskOptions& options,
                                     std::ostream& out) {
  MqttOptions mqtt;
  mqtt.url = options.url.empty() ? config.mqtt.url : options.url;
  if (mqtt.url.empty()) {
    auto url = Instance::BrokerUrl(RuntimeFolder(), config.topics.base + "-" + config.topics.node);
    if (!url) return std::unexpected(url.error());
    mqtt.url = std::move(*url);
  }
  auto password = LoadPassword(config);
  if (!password) return std::unexpected(password.error());
  mqtt.client_id = "ask-" + std::to_string(getpid());
  mqtt.username = config.mqtt.username;
  mqtt.password = std::move(*password);
  mqtt.ca_file = config.mqtt.ca_file;
  mqtt.certificate_file = config.mqtt.certificate_file;
  mqtt.key_file = config.mqtt.key_file;
  mqtt.allow_insecure_password = config.mqtt.allow_insecure_password;
  const auto usable = CheckMqttOptions(mqtt);
  if (!usable) return std::unexpected(usable.error());
  return Asking(config, options, mqtt, out).Run();
}

}  // namespace service
