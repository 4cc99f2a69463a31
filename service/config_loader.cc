#include "service/config_loader.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "service/home_loader.h"
#include "service/paths.h"
#include "service/yaml_loader.h"

namespace service {
namespace {

constexpr YamlLimits kLimits{64 * 1024, 2000, 8};
constexpr std::size_t kDocumentBytesMax = 2 * 1024 * 1024;  // above every limit of the parsers

const YamlNode& Section(YamlReader& reader, const YamlNode& root, std::string_view key,
                        std::initializer_list<std::string_view> known) {
  static const YamlNode kEmpty{YamlNode::Kind::kMap, false, {}, {}, {}, 0, 0};
  const YamlNode* node = reader.Find(root, key, false);
  if (node == nullptr || node->kind == YamlNode::Kind::kNothing) return kEmpty;
  return reader.IsMap(*node, key, known) ? *node : kEmpty;
}

std::string Below(const std::string& folder, const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

std::string Name(YamlReader& reader, const YamlNode& map, std::string_view key,
                 std::string_view fallback) {
  std::string name = reader.TextOr(map, key, fallback);
  if (!IsTopicName(name)) {
    reader.Fail(*reader.Find(map, key, true),
                std::string(key) + " is \"" + name +
                    "\"; it has to be 1 to 64 letters, digits, '_', '-' or '.'");
    name = fallback;
  }
  return name;
}

void ReadMqtt(YamlReader& reader, const YamlNode& root, const std::string& folder, Config& config) {
  const YamlNode& map =
      Section(reader, root, "mqtt",
              {"url", "username", "password_file", "ca_file", "certificate_file", "key_file",
               "allow_insecure_password", "base", "node", "response_prefixes"});
  MqttConfig& mqtt = config.mqtt;
  mqtt.url = reader.TextOr(map, "url", "");
  mqtt.username = reader.TextOr(map, "username", "");
  mqtt.password_file = Below(folder, reader.TextOr(map, "password_file", ""));
  mqtt.ca_file = Below(folder, reader.TextOr(map, "ca_file", ""));
  mqtt.certificate_file = Below(folder, reader.TextOr(map, "certificate_file", ""));
  mqtt.key_file = Below(folder, reader.TextOr(map, "key_file", ""));
  mqtt.allow_insecure_password = reader.FlagOr(map, "allow_insecure_password", false);
  config.topics.base = Name(reader, map, "base", config.topics.base);
  config.topics.node = Name(reader, map, "node", config.topics.node);
  if (reader.Find(map, "response_prefixes", false) != nullptr) {
    config.topics.response_prefixes.clear();
    for (const YamlNode* prefix : reader.TextsOr(map, "response_prefixes")) {
      config.topics.response_prefixes.push_back(prefix->text);
    }
  }
}

void ReadModel(YamlReader& reader, const YamlNode& root, const std::string& models_folder,
               Config& config) {
  const YamlNode& model = Section(reader, root, "model", {"file", "chat_template"});
  engine::EngineOptions& options = config.engine;
  const std::string model_file = reader.TextOr(model, "file", "SmolLM2-135M-Instruct.Q4_1.gguf");
  if (model_file.empty()) {
    reader.Fail(*reader.Find(model, "file", true), "\"file\" is empty; name a GGUF file");
  }
  options.model_path = Below(models_folder, model_file);
  options.chat_template = reader.TextOr(model, "chat_template", "");
  const YamlNode& map = Section(reader, root, "engine",
                                {"workers", "context_tokens_max", "kv_pool_bytes",
                                 "utterance_tokens_max", "answer_tokens_max"});
  const auto integer = [&](std::string_view key, std::int64_t min, std::int64_t max, int fallback) {
    return static_cast<int>(reader.IntegerOr(map, key, min, max, fallback));
  };
  options.workers = integer("workers", 0, 1024, options.workers);
  options.context_tokens_max =
      integer("context_tokens_max", 0, 1 << 20, options.context_tokens_max);
  options.kv_pool_bytes = static_cast<std::uint64_t>(
      reader.IntegerOr(map, "kv_pool_bytes", 0, std::int64_t{1} << 46, 0));
  options.utterance_tokens_max =
      integer("utterance_tokens_max", 8, 4096, options.utterance_tokens_max);
  options.answer_tokens_max = integer("answer_tokens_max", 8, 1024, options.answer_tokens_max);
}

void ReadCommands(YamlReader& reader, const YamlNode& root, Config& config) {
  const YamlNode& map = Section(reader, root, "commands",
                                {"mode", "queue_length_max", "utterance_bytes_max", "ttl_ms"});
  const std::string mode = reader.TextOr(map, "mode", "execute");
  if (mode != "execute" && mode != "return") {
    reader.Fail(*reader.Find(map, "mode", true),
                "mode is \"" + mode + "\"; it has to be execute or return");
  }
  config.commands.mode = mode == "return" ? ActionMode::kReturn : ActionMode::kExecute;
  config.engine.queue_length_max =
      static_cast<int>(reader.IntegerOr(map, "queue_length_max", 1, 256, 16));
  config.commands.utterance_bytes_max = static_cast<std::size_t>(
      reader.IntegerOr(map, "utterance_bytes_max", 16, kRequestBytesMax, 1000));
  config.commands.ttl =
      std::chrono::milliseconds(reader.IntegerOr(map, "ttl_ms", 100, 600'000, 15'000));
}

// Of a regular file: reading a folder throws, and reading a pipe may never end.
std::expected<Document, std::string> ReadDocument(const std::string& path,
                                                  const std::string& way_out) {
  const auto refused = [&](const std::string& why) {
    return std::unexpected(path + " can't be read (" + why + "); " + way_out);
  };
  std::error_code problem;
  const auto kind = std::filesystem::status(path, problem).type();
  if (kind != std::filesystem::file_type::regular) {
    const bool is_folder = kind == std::filesystem::file_type::directory;
    return refused(is_folder ? "it is a folder" : problem ? problem.message() : "it is no file");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) return refused(std::generic_category().message(errno));
  Document document{path, std::string(kDocumentBytesMax, '\0')};
  in.read(document.text.data(), static_cast<std::streamsize>(document.text.size()));
  document.text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return refused("reading failed");
  return document;
}

}  // namespace

std::expected<Config, std::string> ParseConfig(const std::string& file, const std::string& text,
                                               const std::string& folder,
                                               const std::string& models_folder) {
  const auto root = ParseYaml(file, text, kLimits);
  if (!root) return std::unexpected(root.error());
  YamlReader reader(file);
  Config config;
  config.file = file;
  reader.IsMap(*root, "the configuration",
               {"mqtt", "home_assistant", "home", "model", "engine", "commands"});
  ReadMqtt(reader, *root, folder, config);
  const YamlNode& home_assistant =
      Section(reader, *root, "home_assistant", {"discovery", "prefix"});
  config.home_assistant_discovery = reader.FlagOr(home_assistant, "discovery", true);
  config.topics.home_assistant_prefix =
      Name(reader, home_assistant, "prefix", config.topics.home_assistant_prefix);
  const YamlNode& home = Section(reader, *root, "home", {"policy", "tools", "house"});
  config.documents.policy = Below(folder, reader.TextOr(home, "policy", "policy.yaml"));
  config.documents.tools = Below(folder, reader.TextOr(home, "tools", "tools.yaml"));
  config.documents.house = Below(folder, reader.TextOr(home, "house", "house.yaml"));
  ReadModel(reader, *root, models_folder, config);
  ReadCommands(reader, *root, config);
  if (!reader.ok()) return std::unexpected(reader.error());
  return config;
}

std::expected<Config, std::string> LoadConfig(const std::string& folder) {
  const std::string path = Below(folder, "assistant.yaml");
  const auto document = ReadDocument(path, "name the folder that holds it with --config.");
  if (!document) return std::unexpected(document.error());
  return ParseConfig(path, document->text, folder, ModelsFolder());
}

std::expected<integrations::Home, std::string> LoadDocuments(const DocumentPaths& paths) {
  const std::string way_out = "check the paths in assistant.yaml.";
  const auto policy = ReadDocument(paths.policy, way_out);
  if (!policy) return std::unexpected(policy.error());
  const auto tools = ReadDocument(paths.tools, way_out);
  if (!tools) return std::unexpected(tools.error());
  const auto house = ReadDocument(paths.house, way_out);
  if (!house) return std::unexpected(house.error());
  return ParseHome(*policy, *tools, *house);
}

std::expected<std::string, std::string> LoadPassword(const Config& config) {
  const std::string& path = config.mqtt.password_file;
  if (path.empty()) return std::string();
  struct stat status{};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::unexpected(path + " (mqtt.password_file) is no file that can be read; write the " +
                           "password into it, or name another.");
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return std::unexpected(path + " may be read by others; take that away with: chmod 600 " + path);
  }
  std::ifstream in(path);
  std::string password;
  if (!std::getline(in, password) || password.empty()) {
    return std::unexpected(path + " (mqtt.password_file) holds no password; put it on the first " +
                           "line.");
  }
  return password;
}

}  // namespace service
