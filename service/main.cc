// inglenook: the command line. Joins the parts; does nothing else.
#include <CLI/CLI.hpp>
#include <expected>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "engine/gguf_file.h"
#include "engine/mapped_file.h"
#include "engine/model_dump.h"
#include "integrations/home_assistant/discovery.h"
#include "integrations/home_assistant/home_assistant.h"
#include "service/ask_command.h"
#include "service/bench_command.h"
#include "service/config_loader.h"
#include "service/cores.h"
#include "service/log.h"
#include "service/progress.h"
#include "service/run_service.h"

namespace {

using service::Config;

// What `--config` names: the service's options and the home.
struct Loaded {
  Config config;
  std::unique_ptr<integrations::Integration> integration;
};

std::expected<Loaded, std::string> Load(const std::string& folder) {
  auto config = service::LoadConfig(folder);
  if (!config) return std::unexpected(config.error());
  auto home = service::LoadDocuments(config->documents);
  if (!home) return std::unexpected(home.error());
  auto integration = integrations::home_assistant::Create(std::move(*home));
  if (!integration) return std::unexpected(integration.error());
  return Loaded{std::move(*config), std::move(*integration)};
}

std::expected<void, std::string> Run(const std::string& folder) {
  const auto loaded = Load(folder);
  if (!loaded) return std::unexpected(loaded.error());
  service::RunOptions options;
  options.software_version = INGLENOOK_VERSION;
  if (loaded->config.home_assistant_discovery) {
    integrations::home_assistant::DiscoveryOptions discovery;
    discovery.prefix = loaded->config.topics.home_assistant_prefix;
    discovery.base = loaded->config.topics.base;
    discovery.node = loaded->config.topics.node;
    discovery.software_version = options.software_version;
    options.discovery = integrations::home_assistant::DiscoveryMessage(discovery);
  }
  return service::RunService(loaded->config, *loaded->integration, options);
}

std::expected<std::unique_ptr<engine::Engine>, std::string> LoadEngine(const Config& config) {
  service::ProgressBar progress;
  service::UseAllCores();
  return engine::Engine::Load(config.engine, [&](std::string_view what, double fraction) {
    progress.Show(what, fraction);
  });
}

std::expected<void, std::string> Check(const std::string& folder) {
  const auto loaded = Load(folder);
  if (!loaded) return std::unexpected(loaded.error());
  const auto engine = LoadEngine(loaded->config);
  if (!engine) return std::unexpected(engine.error());
  const auto prefix = (*engine)->CheckPrefix(service::PrefixSourceOf(*loaded->integration));
  if (!prefix) return std::unexpected(prefix.error());
  const engine::ModelInfo& model = (*engine)->model();
  std::cout << "model    " << model.name << " (" << model.architecture << ")\n"
            << "prefix   " << prefix->version << '\n';
  for (const auto& section : prefix->sections) {
    std::cout << "         " << section.name << ": " << section.tokens << " tokens\n";
  }
  std::cout << "tokens   " << prefix->tokens << " of a context of " << model.context_tokens_max
            << '\n'
            << "calls    " << loaded->integration->language().heads.size() << '\n'
            << "The configuration in " << folder << " is good.\n";
  return {};
}

std::expected<void, std::string> PrintPrefix(const std::string& folder, bool as_tokens) {
  const auto loaded = Load(folder);
  if (!loaded) return std::unexpected(loaded.error());
  const auto engine = LoadEngine(loaded->config);
  if (!engine) return std::unexpected(engine.error());
  const engine::PrefixSource source = service::PrefixSourceOf(*loaded->integration);
  if (!as_tokens) {
    std::cout << (*engine)->RenderPrefix(source);
    return {};
  }
  for (const std::int32_t token : (*engine)->PrefixTokens(source)) std::cout << token << '\n';
  return {};
}

std::expected<void, std::string> DumpModel(const std::string& path) {
  const auto mapped = engine::MappedFile::Open(path);
  if (!mapped) return std::unexpected(mapped.error());
  const auto file = engine::GgufFile::Parse(mapped->bytes(), path);
  if (!file) return std::unexpected(file.error());
  std::cout << engine::DescribeModelFile(*file);
  return {};
}

std::expected<void, std::string> RunBench(const std::string& folder,
                                          const service::BenchOptions& options) {
  const auto loaded = Load(folder);
  if (!loaded) return std::unexpected(loaded.error());
  return service::Bench(loaded->config, *loaded->integration, options, std::cout);
}

// Returns: the program's result.
int Report(const std::expected<void, std::string>& result) {
  if (result) return 0;
  std::cerr << "inglenook: " << result.error() << '\n';
  return 1;
}

int RunAsk(const std::string& folder, const service::AskOptions& options) {
  const auto config = service::LoadConfig(folder);
  if (!config) return Report(std::unexpected(config.error()));
  const auto answered = service::Ask(*config, options, std::cout);
  if (!answered) return Report(std::unexpected(answered.error()));
  return *answered ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  service::StartWithTeamSettings(argv);
  CLI::App app("Keeps a house's prompt warm: household commands to actions, on the CPU.");
  app.set_version_flag("--version", INGLENOOK_VERSION);
  app.require_subcommand(1);
  std::string folder = "config";
  bool is_verbose = false;
  service::AskOptions ask;
  service::BenchOptions bench;
  std::string model_path;
  const auto add = [&](CLI::App& parent, const char* name, const char* what) {
    CLI::App* command = parent.add_subcommand(name, what);
    command->add_option("--config", folder, "Folder with assistant.yaml")->capture_default_str();
    return command;
  };
  CLI::App* run = add(app, "run", "Run the service until it is told to stop");
  run->add_flag("--verbose", is_verbose, "Log what is said, too");
  CLI::App* asking = add(app, "ask", "Send one command to the running service");
  asking->add_option("text", ask.text, "What to say")->required();
  asking->add_option("--area", ask.area, "Where the speaker is");
  asking->add_option("--mode", ask.mode, "Who acts: the service or its client")
      ->check(CLI::IsMember({"execute", "return"}));
  asking->add_option("--url", ask.url, "Broker, such as tcp://localhost:1883");
  asking->add_flag("--json", ask.prints_json, "Print the events as they are");
  CLI::App* check = add(app, "check", "Check configuration, home and model; show the prefix");
  CLI::App* prefix = app.add_subcommand("prefix", "Show the prefix")->require_subcommand(1);
  CLI::App* render = add(*prefix, "render", "As text, special tokens spelled");
  CLI::App* tokens = add(*prefix, "tokens", "As token ids, one a line");
  CLI::App* model = app.add_subcommand("model", "Look at a model file")->require_subcommand(1);
  CLI::App* dump = model->add_subcommand("dump", "Print metadata and tensors");
  dump->add_option("file", model_path, "A GGUF file")->required();
  CLI::App* benching = add(app, "bench", "Measure the time to the first token");
  benching->add_option("utterances", bench.utterances, "Commands to measure with");
  benching->add_option("--repeats", bench.repeats, "Engines started from nothing")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  benching->add_flag("--json", bench.prints_json, "Print the results as JSON");
  CLI11_PARSE(app, argc, argv);

  if (is_verbose) service::SetLogLevel(service::LogLevel::kDebug);
  if (run->parsed()) return Report(Run(folder));
  if (asking->parsed()) return RunAsk(folder, ask);
  if (check->parsed()) return Report(Check(folder));
  if (render->parsed()) return Report(PrintPrefix(folder, false));
  if (tokens->parsed()) return Report(PrintPrefix(folder, true));
  if (dump->parsed()) return Report(DumpModel(model_path));
  if (benching->parsed()) return Report(RunBench(folder, bench));
  return 1;
}
