// All options of the service as one struct of structs. config_loader.h reads them from YAML;
// config/assistant.yaml lists every key with its default, unit and meaning.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "service/command.h"
#include "service/topics.h"

namespace service {

struct MqttConfig {
  std::string url;  // empty: a private broker on this machine
  std::string username;
  std::string password_file;  // its first line; not readable by others
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  bool allow_insecure_password = false;
};

// Paths of the three documents; relative ones are below the configuration's folder.
struct DocumentPaths {
  std::string policy = "policy.yaml";
  std::string tools = "tools.yaml";
  std::string house = "house.yaml";
};

struct Config {
  std::string file;  // where it was read from
  MqttConfig mqtt;
  Topics::Options topics;
  bool home_assistant_discovery = true;
  DocumentPaths documents;
  engine::EngineOptions engine;
  CommandOptions commands;
};

}  // namespace service
