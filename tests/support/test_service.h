// The real program with the small home and the talking model (or another one), on a real Mosquitto.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/test_client.h"

namespace support {

// A free port of the loopback address.
int FreePort();

// A Mosquitto that a test may stop, kill and start again on the same port.
class TestBroker {
 public:
  // more: further lines of its configuration.
  explicit TestBroker(const std::string& more = "allow_anonymous true\n");
  void Start();
  void Kill();
  std::string url() const;
  std::string log() const { return process_->Output(); }

 private:
  TestFolder folder_;
  int port_;
  std::unique_ptr<ChildProcess> process_;
};

struct TestServiceOptions {
  std::string url = "";        // the broker's; empty: a private one
  std::string node = "t";      // topics are inglenook/<node>/
  std::string model = "";      // empty: the talking model
  std::string documents = "";  // folder; empty: tests/data/small_home
  std::string more = "";       // further sections of assistant.yaml; empty: few and small workers
  bool verbose = false;        // log accepted commands, too
};

class TestService {
 public:
  explicit TestService(const TestServiceOptions& options);
  void Start();
  // Asks it to stop. Returns: its result.
  std::optional<int> Stop(double seconds = 20);

  ChildProcess& process() { return *process_; }
  // Another `inglenook` beside it, with the same folders. Waits for its end.
  std::pair<int, std::string> RunBeside(const std::vector<std::string>& arguments,
                                        double seconds = 60) const;
  std::string Topic(const std::string& name) const { return "inglenook/" + node_ + "/" + name; }
  std::string runtime_folder() const { return folder_.path() + "/runtime"; }
  const std::string& config_folder() const { return folder_.path(); }

 private:
  ChildProcess::Environment Environment() const;

  TestFolder folder_;
  std::string node_;
  bool verbose_;
  std::unique_ptr<ChildProcess> process_;
};

// Waits until the service is ready, seen through the client (which has to listen to its state).
bool WaitUntilReady(TestClient& client, const TestService& service, double seconds = 60);

}  // namespace support
