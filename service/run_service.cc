#include "service/run_service.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "service/assistant.h"
#include "service/config_loader.h"
#include "service/cores.h"
#include "service/instance.h"
#include "service/log.h"
#include "service/mqtt_transport.h"
#include "service/paths.h"
#include "service/private_broker.h"
#include "service/progress.h"

namespace service {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kQueueLengthMax = 64;    // between two turns of the engine thread
constexpr std::size_t kQueueReserveMax = 256;  // rejections and everything that is no command
constexpr milliseconds kGoodbyePatience{2000};

// Waits for the signals that end the service. They have to be blocked before any thread starts.
class SignalThread {
 public:
  explicit SignalThread(CommandQueue<Inbound>& queue) {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this, &queue] {
      int signal = 0;
      while (sigwait(&signals_, &signal) == 0 && signal != SIGUSR1) queue.Raise(Signal::kStop);
    });
  }
  ~SignalThread() {
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  sigset_t signals_{};
  std::thread thread_;
};

Transport::Callbacks CallbacksFor(CommandQueue<Inbound>& queue, const CommandReader& reader) {
  Transport::Callbacks callbacks;
  callbacks.received = [&queue, &reader](const InboundMessage& message) {
    Inbound inbound = reader.Read(message);
    if (std::holds_alternative<Command>(inbound) && queue.TryPush(inbound)) return;
    // What finds no room even here was never accepted; its sender sees that.
    (void)queue.TryPushReserved(BusyInstead(std::move(inbound)));
  };
  callbacks.connection_changed = [&queue] { queue.Raise(Signal::kConnection); };
  callbacks.acknowledged = [&queue] { queue.Raise(Signal::kAcknowledged); };
  return callbacks;
}

std::expected<MqttOptions, std::string> MqttOptionsFor(const Config& config,
                                                       const std::string& url) {
  auto password = LoadPassword(config);
  if (!password) return std::unexpected(password.error());
  MqttOptions options;
  options.url = url;
  // Not the same for two services with one node: the broker would throw them out in turn, for
  // ever, and neither would know why.
  options.client_id = "inglenook-" + config.topics.base + "-" + config.topics.node + "-" +
                      std::to_string(std::random_device()());
  options.username = config.mqtt.username;
  options.password = std::move(*password);
  options.ca_file = config.mqtt.ca_file;
  options.certificate_file = config.mqtt.certificate_file;
  options.key_file = config.mqtt.key_file;
  options.allow_insecure_password = config.mqtt.allow_insecure_password;
  options.will_topic = Topics(config.topics).Own("status");
  options.will_payload = "offline";
  const auto usable = CheckMqttOptions(options);
  if (!usable) return std::unexpected(config.file + ": " + usable.error());
  return options;
}

// Everything that `run` holds, in the order of dependence.
class Service {
 public:
  static std::expected<void, std::string> Run(const Config& config,
                                              const integrations::Integration& integration,
                                              const RunOptions& options);

 private:
  Service(const Config& config, const integrations::Integration& integration,
          const RunOptions& options, const MqttOptions& mqtt, std::optional<PrivateBroker>& broker);

  std::expected<void, std::string> GetReady();
  std::expected<void, std::string> Serve();
  Assistant::Outcome Turn(bool may_sleep);
  void TurnWhileLoading();
  std::string TakenOver() const;
  void ShowProgress(std::string_view what, double fraction);

  const Config& config_;
  const integrations::Integration& integration_;
  std::optional<PrivateBroker>& broker_;
  CommandQueue<Inbound> queue_;
  SignalThread signal_thread_;
  CommandReader reader_;
  MqttTransport transport_;
  CommandHistory history_;
  Assistant assistant_;
  ProgressBar progress_;
  std::unique_ptr<engine::Engine> engine_;
};

AssistantOptions AssistantOptionsFor(const Config& config, const RunOptions& options) {
  AssistantOptions out;
  out.topics = config.topics;
  out.commands = config.commands;
  out.queue_length_max = config.engine.queue_length_max;
  out.software_version = options.software_version;
  out.discovery = options.discovery;
  out.metrics_interval = options.metrics_interval;
  return out;
}

Service::Service(const Config& config, const integrations::Integration& integration,
                 const RunOptions& options, const MqttOptions& mqtt,
                 std::optional<PrivateBroker>& broker)
    : config_(config),
      integration_(integration),
      broker_(broker),
      queue_(kQueueLengthMax, kQueueReserveMax),
      signal_thread_(queue_),
      reader_(Topics(config.topics), config.commands),
      transport_(mqtt, CallbacksFor(queue_, reader_)),
      history_(StateFolder() + "/" + config.topics.base + "-" + config.topics.node + ".acted",
               std::chrono::duration_cast<milliseconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      assistant_(AssistantOptionsFor(config, options), transport_, queue_, history_, integration) {
  if (!history_.file_trouble().empty()) {
    LogEvent(LogLevel::kWarning, "history", {{"trouble", history_.file_trouble()}});
  }
}

Assistant::Outcome Service::Turn(bool may_sleep) {
  const Assistant::Outcome outcome = assistant_.Turn(may_sleep);
  if (broker_ && !transport_.connected() && broker_->Revive()) {
    LogEvent(LogLevel::kWarning, "broker", {{"trouble", "the private broker was started again"}});
  }
  return outcome;
}

// Loading can't be broken off, and nothing that it has done yet is worth keeping: when told to stop
// in the midst of it, the program ends here.
void Service::TurnWhileLoading() {
  const Assistant::Outcome outcome = Turn(false);
  if (outcome == Assistant::Outcome::kGoOn) return;
  progress_.Finish();
  assistant_.Stop(kGoodbyePatience);
  broker_.reset();
  if (outcome == Assistant::Outcome::kStop) std::_Exit(0);
  LogEvent(LogLevel::kError, "stopping", {{"trouble", TakenOver()}});
  std::_Exit(1);
}

std::string Service::TakenOver() const {
  return "Another Inglenook has come to this broker as \"" + config_.topics.base + "/" +
         config_.topics.node +
         "\", so this one stops. Two services can't share a node: give one of them another " +
         "mqtt.node in its assistant.yaml.";
}

void Service::ShowProgress(std::string_view what, double fraction) {
  progress_.Show(what, fraction);
  TurnWhileLoading();
}

std::expected<void, std::string> Service::GetReady() {
  const auto on_progress = [this](std::string_view what, double fraction) {
    ShowProgress(what, fraction);
  };
  assistant_.Enter(State::kLoading);
  UseAllCores();
  TurnWhileLoading();  // starts the transport's threads
  auto loaded = engine::Engine::Load(config_.engine, on_progress);
  UseOwnCore();
  if (!loaded) return std::unexpected(loaded.error());
  engine_ = std::move(*loaded);
  progress_.Finish();
  assistant_.Enter(State::kWarming);
  TurnWhileLoading();
  const auto prefix =
      engine_->SetPrefix(PrefixSourceOf(integration_), AnswerLanguageOf(integration_), on_progress);
  if (!prefix) return std::unexpected(prefix.error());
  progress_.Finish();
  assistant_.Serve(*engine_, *prefix);
  LogEvent(LogLevel::kInfo, "prefix",
           {{"version", prefix->version},
            {"tokens", prefix->tokens},
            {"seconds", prefix->warm_seconds},
            {"isa", engine_->model().instruction_set},
            {"workers", engine_->model().workers}});
  return {};
}

std::expected<void, std::string> Service::Serve() {
  const auto ready = GetReady();
  if (!ready) {
    progress_.Finish();
    assistant_.Enter(State::kError);
    Turn(false);
    assistant_.Stop(kGoodbyePatience);
    return ready;
  }
  Assistant::Outcome outcome = Assistant::Outcome::kGoOn;
  while (outcome == Assistant::Outcome::kGoOn) outcome = Turn(true);
  LogEvent(LogLevel::kInfo, "stopping");
  assistant_.Stop(kGoodbyePatience);
  if (outcome == Assistant::Outcome::kStop) return {};
  return std::unexpected(TakenOver());
}

std::expected<void, std::string> Service::Run(const Config& config,
                                              const integrations::Integration& integration,
                                              const RunOptions& options) {
  const std::string folder = RuntimeFolder();
  const std::string name = config.topics.base + "-" + config.topics.node;
  const auto instance = Instance::Acquire(folder, name);
  if (!instance) return std::unexpected(instance.error());
  std::optional<PrivateBroker> broker;
  std::string url = config.mqtt.url;
  if (url.empty()) {
    auto started = PrivateBroker::Start(folder, name);
    if (!started) return std::unexpected(started.error());
    url = started->url();
    broker.emplace(std::move(*started));
    LogEvent(LogLevel::kInfo, "broker", {{"private", true}, {"url", url}});
  }
  const auto mqtt = MqttOptionsFor(config, url);
  if (!mqtt) return std::unexpected(mqtt.error());
  const auto written = instance->WriteBrokerUrl(url);
  if (!written) return written;
  Service service(config, integration, options, *mqtt, broker);
  return service.Serve();
}

}  // namespace

engine::PrefixSource PrefixSourceOf(const integrations::Integration& integration) {
  const integrations::Prefix& prefix = integration.prefix();
  engine::PrefixSource source;
  for (const auto& section : prefix.sections)
    source.sections.push_back({section.name, section.text});
  for (const auto& turn : prefix.examples) source.examples.push_back({turn.utterance, turn.answer});
  source.versions = prefix.versions;
  return source;
}

engine::AnswerLanguage AnswerLanguageOf(const integrations::Integration& integration) {
  const integrations::AnswerLanguage& given = integration.language();
  engine::AnswerLanguage language;
  for (const auto& head : given.heads) {
    language.heads.push_back({head.text, head.has_value, head.value_min, head.value_max});
  }
  language.words_lead = given.words_lead;
  language.words_bytes_max = given.words_bytes_max;
  language.ask_text = given.ask_text;
  return language;
}

std::expected<void, std::string> RunService(const Config& config,
                                            const integrations::Integration& integration,
                                            const RunOptions& options) {
  return Service::Run(config, integration, options);
}

}  // namespace service
