// A Mosquitto of our own on a free loopback port, for when no broker is configured.
//
// Programs on this machine may connect without a password, others not at all. It ends with the
// service, even when that is killed. If it dies it is started again on the same port.
//
// Thread: the one that called Start. Limit: waits up to kPatience for the port to open.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>

namespace service {

class PrivateBroker {
 public:
  static constexpr std::chrono::seconds kPatience{10};

  // folder: for its configuration file. Returns: a sentence when Mosquitto is not installed or does
  // not start.
  [[nodiscard]] static std::expected<PrivateBroker, std::string> Start(const std::string& folder,
                                                                       const std::string& name);
  PrivateBroker(PrivateBroker&& other) noexcept;
  PrivateBroker& operator=(PrivateBroker&& other) = delete;
  ~PrivateBroker();

  std::string url() const;
  int port() const { return port_; }
  pid_t process() const { return process_; }

  // Starts it again if it died. Returns: whether that was needed.
  bool Revive();

 private:
  PrivateBroker(std::string program, std::string file, int port)
      : program_(std::move(program)), file_(std::move(file)), port_(port) {}
  std::expected<void, std::string> Launch();

  std::string program_;
  std::string file_;
  int port_;
  pid_t process_ = 0;
};

}  // namespace service
