#include "service/private_broker.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "service/paths.h"

namespace service {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr int kTries = 5;

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A port that was free a moment ago; 0 when there is none.
int FreePort() {
  const int socket_file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_file < 0) return 0;
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  const bool ok =
      bind(socket_file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      getsockname(socket_file, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  close(socket_file);
  return ok ? ntohs(address.sin_port) : 0;
}

bool Accepts(int port) {
  const int socket_file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_file < 0) return false;
  const sockaddr_in address = Loopback(port);
  const bool ok =
      connect(socket_file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(socket_file);
  return ok;
}

// In the new process, between fork and exec: only what is safe there.
[[noreturn]] void BecomeBroker(const char* program, const char* file, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);  // the service blocks what its signal thread waits for
  setpgid(0, 0);  // Ctrl-C stops the service, and the service stops its broker
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDIN_FILENO);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  execl(program, program, "-c", file, static_cast<char*>(nullptr));
  _exit(127);
}

}  // namespace

std::expected<PrivateBroker, std::string> PrivateBroker::Start(const std::string& folder,
                                                               const std::string& name) {
  const std::string program = FindProgram("mosquitto");
  if (program.empty()) {
    return std::unexpected(
        "No broker is configured (mqtt.url), and the private one needs Mosquitto, which is not "
        "installed. Install it (apt-get install mosquitto), or set mqtt.url to your broker.");
  }
  std::string why;
  for (int i = 0; i < kTries; ++i) {  // somebody may take the port before Mosquitto does
    PrivateBroker broker(program, folder + "/" + name + ".mosquitto.conf", FreePort());
    const auto launched = broker.Launch();
    if (launched) return broker;
    why = launched.error();
  }
  return std::unexpected(why);
}

std::expected<void, std::string> PrivateBroker::Launch() {
  std::ofstream out(file_);
  out << "listener " << port_ << " 127.0.0.1\n"
      << "allow_anonymous true\npersistence false\nset_tcp_nodelay true\nlog_dest none\n";
  // Started by root, Mosquitto would become another user, and the kernel would then forget to end
  // it with the service.
  if (geteuid() == 0) out << "user root\n";
  out.close();
  if (!out) return std::unexpected(file_ + " can't be written; check the folder's owner.");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return std::unexpected("Mosquitto can't be started: no new process was given.");
  if (child == 0) BecomeBroker(program_.c_str(), file_.c_str(), parent);
  process_ = child;
  for (const auto until = SteadyClock::now() + kPatience; SteadyClock::now() < until;) {
    if (waitpid(process_, nullptr, WNOHANG) == process_) {
      process_ = 0;
      return std::unexpected(program_ + " ended at once; try it by hand: " + program_ + " -c " +
                             file_);
    }
    if (Accepts(port_)) return {};
    std::this_thread::sleep_for(milliseconds(10));
  }
  return std::unexpected(program_ + " does not open port " + std::to_string(port_) +
                         "; try it by hand: " + program_ + " -c " + file_);
}

PrivateBroker::PrivateBroker(PrivateBroker&& other) noexcept
    : program_(std::move(other.program_)),
      file_(std::move(other.file_)),
      port_(other.port_),
      process_(std::exchange(other.process_, 0)) {}

PrivateBroker::~PrivateBroker() {
  if (process_ == 0) return;
  kill(process_, SIGTERM);
  const auto until = SteadyClock::now() + kPatience;
  while (waitpid(process_, nullptr, WNOHANG) == 0) {
    if (SteadyClock::now() >= until) kill(process_, SIGKILL);
    std::this_thread::sleep_for(milliseconds(5));
  }
  std::remove(file_.c_str());
}

std::string PrivateBroker::url() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

bool PrivateBroker::Revive() {
  if (process_ != 0 && waitpid(process_, nullptr, WNOHANG) != process_) return false;
  process_ = 0;
  (void)Launch();  // if it fails, the next call tries again
  return true;
}

}  // namespace service
