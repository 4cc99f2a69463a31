#include "tests/support/test_service.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "tests/support/talking_model.h"

namespace support {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool Accepts(int port) {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = Loopback(port);
  const bool ok = connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(file);
  return ok;
}

}  // namespace

int FreePort() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  if (bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      getsockname(file, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("no free port");
  }
  close(file);
  return ntohs(address.sin_port);
}

TestBroker::TestBroker(const std::string& more) : port_(FreePort()) {
  folder_.Write("mosquitto.conf",
                "listener " + std::to_string(port_) + " 127.0.0.1\n" +
                    "user root\npersistence false\nset_tcp_nodelay true\nlog_type all\n" + more);
  Start();
}

void TestBroker::Start() {
  process_.reset();
  process_ = std::make_unique<ChildProcess>(
      std::vector<std::string>{"/usr/sbin/mosquitto", "-c", folder_.path() + "/mosquitto.conf"},
      ChildProcess::Environment{}, folder_.path() + "/log");
  for (int i = 0; i < 1000 && !Accepts(port_); ++i) {
    if (process_->Wait(0)) throw std::runtime_error("mosquitto: " + process_->Output());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void TestBroker::Kill() { process_.reset(); }

std::string TestBroker::url() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

TestService::TestService(const TestServiceOptions& options)
    : node_(options.node), verbose_(options.verbose) {
  const std::string documents = options.documents.empty()
                                    ? std::string(INGLENOOK_SOURCE_DIR) + "/tests/data/small_home"
                                    : options.documents;
  const std::string model = options.model.empty() ? TalkingModelFile() : options.model;
  std::string text = "mqtt:\n  url: \"" + options.url + "\"\n  node: " + node_ + "\n";
  text += "home:\n";
  for (const char* name : {"policy", "tools", "house"}) {
    text += std::string("  ") + name + ": " + documents + "/" + name + ".yaml\n";
  }
  text += "model: {file: " + model + "}\n";
  text += options.more.empty() ? "engine: {answer_tokens_max: 256, workers: 1}\n" : options.more;
  folder_.Write("assistant.yaml", text);
  std::filesystem::create_directories(runtime_folder());
  Start();
}

ChildProcess::Environment TestService::Environment() const {
  return {{"XDG_RUNTIME_DIR", runtime_folder()},
          {"XDG_STATE_HOME", folder_.path() + "/state"},
          {"OMP_PROC_BIND", "false"},
          {"INGLENOOK_MODELS", folder_.path()}};
}

void TestService::Start() {
  process_.reset();
  std::vector<std::string> words = {INGLENOOK_PROGRAM, "run", "--config", folder_.path()};
  if (verbose_) words.emplace_back("--verbose");
  process_ = std::make_unique<ChildProcess>(words, Environment(), folder_.path() + "/log");
}

std::optional<int> TestService::Stop(double seconds) {
  process_->Signal(SIGTERM);
  return process_->Wait(seconds);
}

std::pair<int, std::string> TestService::RunBeside(const std::vector<std::string>& arguments,
                                                   double seconds) const {
  std::vector<std::string> words = {INGLENOOK_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), {"--config", folder_.path()});
  const std::string output = folder_.path() + "/beside";
  std::filesystem::remove(output);
  ChildProcess child(words, Environment(), output);
  const auto result = child.Wait(seconds);
  return {result.value_or(-1), child.Output()};
}

bool WaitUntilReady(TestClient& client, const TestService& service, double seconds) {
  return client.Connect(seconds) && client.WaitUntil(seconds, [&] {
    const auto states = client.On(service.Topic("state"));
    return !states.empty() && states.back() == "ready";
  });
}

}  // namespace support
