#include "service/instance.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace service {

std::expected<Instance, std::string> Instance::Acquire(const std::string& folder,
                                                       const std::string& node) {
  const std::string path = folder + "/" + node + ".lock";
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return std::unexpected(path + " can't be written (" + std::strerror(errno) +
                           "); check the folder's owner.");
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    char process[32] = {};
    const ssize_t length = read(descriptor, process, sizeof process - 1);
    close(descriptor);
    return std::unexpected("Inglenook already runs here as \"" + node + "\" (process " +
                           (length > 0 ? process : "unknown") +
                           "). Stop it first, or give this one another mqtt.node in "
                           "assistant.yaml.");
  }
  const std::string process = std::to_string(getpid());
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, process.data(), process.size(), 0) !=
                                           static_cast<ssize_t>(process.size())) {
    close(descriptor);
    return std::unexpected(path + " can't be written: " + std::strerror(errno) + ".");
  }
  return Instance(descriptor, folder + "/" + node + ".json");
}

Instance::Instance(Instance&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      address_file_(std::move(other.address_file_)) {}

Instance::~Instance() {
  if (descriptor_ < 0) return;
  std::remove(address_file_.c_str());
  close(descriptor_);
}

std::expected<void, std::string> Instance::WriteBrokerUrl(const std::string& url) const {
  const std::string text = nlohmann::json{{"url", url}, {"process", getpid()}}.dump() + "\n";
  const std::string fresh = address_file_ + ".new";
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) close(file);
  if (!written || std::rename(fresh.c_str(), address_file_.c_str()) != 0) {
    return std::unexpected(address_file_ + " can't be written: " + std::strerror(errno) + ".");
  }
  return {};
}

std::expected<std::string, std::string> Instance::BrokerUrl(const std::string& folder,
                                                            const std::string& node) {
  std::ifstream in(folder + "/" + node + ".json");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  const auto url = parsed.is_object() ? parsed.find("url") : parsed.end();
  if (!parsed.is_object() || url == parsed.end() || !url->is_string()) {
    return std::unexpected("No Inglenook called \"" + node +
                           "\" runs on this machine. Start it with: inglenook run");
  }
  return url->get<std::string>();
}

}  // namespace service
