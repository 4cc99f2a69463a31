#include "service/paths.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

namespace service {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string InHome(const char* variable, std::string_view below_home) {
  std::string folder = Environment(variable);
  if (!folder.empty()) return folder + "/inglenook";
  folder = Environment("HOME");
  return (folder.empty() ? std::string("/tmp") : folder) + std::string(below_home) + "/inglenook";
}

std::string Made(const std::string& folder) {
  std::error_code ignored;  // what can't be made can't be written to either, and that is reported
  std::filesystem::create_directories(folder, ignored);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ignored);
  return folder;
}

}  // namespace

std::string ModelsFolder() {
  const std::string chosen = Environment("INGLENOOK_MODELS");
  return chosen.empty() ? InHome("XDG_CACHE_HOME", "/.cache") + "/models" : chosen;
}

std::string StateFolder() {
  const std::string given = Environment("STATE_DIRECTORY");
  return Made(given.empty() ? InHome("XDG_STATE_HOME", "/.local/state") : given);
}

std::string RuntimeFolder() {
  const std::string runtime = Environment("XDG_RUNTIME_DIR");
  return Made(runtime.empty() ? StateFolder() + "/run" : runtime + "/inglenook");
}

std::string FindProgram(const std::string& name) {
  std::istringstream folders(Environment("PATH") + ":/usr/sbin:/usr/local/sbin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = folder + "/" + name;
    if (!folder.empty() && access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace service
