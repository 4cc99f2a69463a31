// Goal: whatever happens to the broker, every accepted command gets exactly one final or error,
// nothing acts twice, and people are told what is wrong.
// Method: the real program; a real Mosquitto that is absent, refuses, dies and comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/test_service.h"

namespace {

using nlohmann::json;
using support::RequestText;
using support::TestBroker;
using support::TestClient;
using support::TestService;
using testing::HasSubstr;

constexpr const char* kState = "inglenook/t/state";

bool WaitForOutput(TestService& service, const std::string& text, double seconds) {
  for (int i = 0; i < seconds * 50; ++i) {
    if (service.process().Output().find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

// How often each id stands in the log's lines of one event.
std::map<std::string, int> Logged(const std::string& log, const std::string& event) {
  std::map<std::string, int> counts;
  std::istringstream in(log);
  for (std::string line; std::getline(in, line);) {
    if (line.find("event=" + event + " ") == std::string::npos) continue;
    const std::size_t at = line.find(" id=") + 4;
    ++counts[line.substr(at, line.find(' ', at) - at)];
  }
  return counts;
}

// Kills and restarts the broker while commands are sent, accepted, decoded and answered.
TEST(BrokerFlow, EveryAcceptedCommandEndsOnceWhileTheBrokerDiesAndComesBack) {
  std::mt19937 random(7);
  TestBroker broker;
  TestService service({.url = broker.url(), .verbose = true});
  TestClient client(broker.url(), "tester", {"inglenook/t/#", "test/#"});
  ASSERT_TRUE(support::WaitUntilReady(client, service)) << service.process().Output();
  std::vector<std::string> sent;
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 6; ++i) {
      sent.push_back("r" + std::to_string(round) + "-" + std::to_string(i));
      client.Publish("inglenook/t/request/tester",
                     RequestText(sent.back(), "turn on the kitchen light", R"("ttl_ms":60000)"));
    }
    client.Listen(0.001 * static_cast<double>(random() % 60));
    broker.Kill();
    client.Listen(0.001 * static_cast<double>(random() % 200));
    broker.Start();
    ASSERT_TRUE(client.Connect(20));
    ASSERT_TRUE(client.WaitUntil(20, [&] {
      const auto states = client.On("inglenook/t/status");
      return !states.empty();
    }));
    client.Forget();
  }
  // What was lost on its way is asked for again, by the same ids.
  const auto response = [](const std::string& id) { return "inglenook/t/response/tester/" + id; };
  ASSERT_TRUE(client.WaitUntil(20, [&] { return client.connected(); }));
  for (std::size_t i = 0; i < sent.size(); i += 8) {
    const std::size_t end = std::min(sent.size(), i + 8);
    for (std::size_t j = i; j < end; ++j) {
      client.Publish("inglenook/t/request/tester",
                     RequestText(sent[j], "turn on the kitchen light", R"("ttl_ms":60000)"));
    }
    for (std::size_t j = i; j < end; ++j) {
      ASSERT_TRUE(client.WaitUntil(30, [&] { return client.Last(response(sent[j])).has_value(); }))
          << sent[j] << '\n'
          << service.process().Output() << broker.log();
      EXPECT_EQ(client.Events(response(sent[j]), "final").size() +
                    client.Events(response(sent[j]), "error").size(),
                1U);
    }
  }
  EXPECT_EQ(service.Stop(), 0);
  const std::string log = service.process().Output();
  const auto accepted = Logged(log, "accepted");
  const auto ended = Logged(log, "command");
  EXPECT_EQ(accepted.size(), sent.size());
  for (const auto& [id, count] : accepted) EXPECT_EQ(count, 1) << id;
  EXPECT_EQ(accepted, ended);
}

TEST(BrokerFlow, AnActionIsDoneOnceWhenTheBrokerComesBackInTime) {
  TestBroker broker;
  TestService service({.url = broker.url()});
  TestClient client(broker.url(), "tester", {"inglenook/t/#", "test/#"});
  ASSERT_TRUE(support::WaitUntilReady(client, service)) << service.process().Output();
  for (int i = 0; i < 5; ++i) {
    const std::string id = "once-" + std::to_string(i);
    client.Publish("inglenook/t/request/tester", RequestText(id, "turn off the hall light"));
    client.Listen(0.004 * i);
    broker.Kill();
    broker.Start();
    ASSERT_TRUE(client.Connect(20));
    client.Listen(0.3);
    EXPECT_LE(client.On("test/hall_light/set").size(), 1U);
    client.Forget();
  }
  EXPECT_EQ(service.Stop(), 0);
}

TEST(BrokerFlow, AServiceWithoutABrokerSaysSoAndConnectsWhenThereIsOne) {
  TestBroker broker;
  broker.Kill();
  TestService service({.url = broker.url()});
  EXPECT_TRUE(WaitForOutput(service, "can't be reached", 30)) << service.process().Output();
  broker.Start();
  TestClient client(broker.url(), "tester", {kState});
  EXPECT_TRUE(support::WaitUntilReady(client, service, 60)) << service.process().Output();
  EXPECT_EQ(service.Stop(), 0);
}

TEST(BrokerFlow, ARefusingBrokerIsNamedWithTheWayOut) {
  TestBroker broker("allow_anonymous false\n");
  TestService service({.url = broker.url()});
  EXPECT_TRUE(WaitForOutput(service, "check mqtt.username", 30)) << service.process().Output();
  EXPECT_EQ(service.Stop(), 0);
}

TEST(BrokerFlow, StatusSaysOfflineWhenTheServiceStopsAndWhenItIsKilled) {
  TestBroker broker;
  TestService service({.url = broker.url()});
  TestClient client(broker.url(), "tester", {kState, "inglenook/t/status"});
  for (const bool killed : {false, true}) {
    if (killed) service.Start();
    client.Forget();
    ASSERT_TRUE(support::WaitUntilReady(client, service)) << service.process().Output();
    client.Listen(0.1);
    service.process().Signal(killed ? SIGKILL : SIGTERM);
    EXPECT_TRUE(
        client.WaitUntil(20, [&] { return client.On("inglenook/t/status").back() == "offline"; }));
    service.process().Wait(20);
  }
}

TEST(BrokerFlow, ACommandThatActedIsNotDoneAgainAfterARestart) {
  TestBroker broker;
  TestService service({.url = broker.url()});
  TestClient client(broker.url(), "tester", {"inglenook/t/#", "test/#"});
  ASSERT_TRUE(support::WaitUntilReady(client, service)) << service.process().Output();
  const std::string request = RequestText("acted", "turn on the hall light");
  client.Publish("inglenook/t/request/tester", request);
  ASSERT_TRUE(client.WaitUntil(
      10, [&] { return client.Last("inglenook/t/response/tester/acted").has_value(); }));
  service.process().Signal(SIGKILL);
  service.process().Wait(10);
  service.Start();
  client.Forget();
  ASSERT_TRUE(client.WaitUntil(30, [&] {
    const auto states = client.On(kState);
    return !states.empty() && states.back() == "ready";
  }));
  client.Publish("inglenook/t/request/tester", request);
  ASSERT_TRUE(client.WaitUntil(
      10, [&] { return client.Last("inglenook/t/response/tester/acted").has_value(); }));
  EXPECT_EQ(json::parse(*client.Last("inglenook/t/response/tester/acted")).at("error"),
            "duplicate");
  EXPECT_EQ(client.On("test/hall_light/set").size(), 0U);
}

TEST(BrokerFlow, ASecondRunOnOneMachineIsRefused) {
  TestBroker broker;
  TestService service({.url = broker.url()});
  TestClient client(broker.url(), "tester", {kState});
  ASSERT_TRUE(support::WaitUntilReady(client, service)) << service.process().Output();
  const auto [result, output] = service.RunBeside({"run"});
  EXPECT_EQ(result, 1);
  EXPECT_THAT(output, HasSubstr("already runs here"));
  EXPECT_THAT(output, HasSubstr(std::to_string(service.process().id())));
}

TEST(BrokerFlow, OfTwoServicesWithOneNodeTheEarlierEndsWithASentence) {
  TestBroker broker;
  TestService first({.url = broker.url()});
  TestClient client(broker.url(), "tester", {kState});
  ASSERT_TRUE(support::WaitUntilReady(client, first)) << first.process().Output();
  TestService second({.url = broker.url()});  // its folders are others: as on another machine
  EXPECT_EQ(first.process().Wait(30), 1) << second.process().Output();
  EXPECT_THAT(first.process().Output(), HasSubstr("Two services can't share a node"));
  EXPECT_EQ(second.Stop(), 0);
}

TEST(BrokerFlow, WithoutAConfiguredBrokerThereIsAPrivateOneThatIsRevivedAndEnds) {
  TestService service({});
  ASSERT_TRUE(WaitForOutput(service, "state=ready", 60)) << service.process().Output();
  ASSERT_TRUE(WaitForOutput(service, "event=connected", 60)) << service.process().Output();
  const std::string address =
      support::FileText(service.runtime_folder() + "/inglenook/inglenook-t.json");
  ASSERT_FALSE(address.empty());
  const std::string url = json::parse(address).at("url");
  const auto [result, output] = service.RunBeside({"ask", "nice weather"});
  EXPECT_EQ(result, 0) << output;
  // Its process is the one whose parent is the service.
  pid_t broker = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = support::FileText(entry.path() / "stat");
    if (stat.find("(mosquitto)") == std::string::npos) continue;
    std::istringstream rest(stat.substr(stat.rfind(')') + 2));
    char state = 0;
    pid_t parent = 0;
    rest >> state >> parent;
    if (parent == service.process().id()) broker = std::stoi(entry.path().filename());
  }
  ASSERT_GT(broker, 0);
  kill(broker, SIGKILL);
  EXPECT_TRUE(WaitForOutput(service, "started again", 30)) << service.process().Output();
  TestClient client(url, "tester", {kState});
  EXPECT_TRUE(support::WaitUntilReady(client, service));
  EXPECT_EQ(service.Stop(), 0);
  client.Listen(0.5);
  EXPECT_FALSE(client.Connect(0.5));
  EXPECT_TRUE(support::FileText(service.runtime_folder() + "/inglenook/inglenook-t.json").empty());
}

TEST(BrokerFlow, ThePrivateBrokerEndsWithAServiceThatIsKilled) {
  TestService service({});
  ASSERT_TRUE(WaitForOutput(service, "event=connected", 60)) << service.process().Output();
  const std::string address =
      support::FileText(service.runtime_folder() + "/inglenook/inglenook-t.json");
  TestClient client(json::parse(address).at("url"), "tester", {});
  ASSERT_TRUE(client.Connect(10));
  service.process().Signal(SIGKILL);
  EXPECT_TRUE(client.WaitUntil(10, [&] { return !client.connected(); }));
  EXPECT_FALSE(client.Connect(1));
}

TEST(BrokerFlow, ACommandBeforeReadyIsAnsweredNotReady) {
  // The example home is long enough for the tiny model to take a while.
  TestBroker broker;
  TestClient client(broker.url(), "tester", {"inglenook/t/#"});
  ASSERT_TRUE(client.Connect(10));
  TestService service({.url = broker.url()});
  std::vector<std::string> sent;
  const auto answered = [&] {
    return std::any_of(sent.begin(), sent.end(), [&](const std::string& id) {
      return client.Last("inglenook/t/response/tester/" + id).has_value();
    });
  };
  for (int i = 0; i < 500 && !answered(); ++i) {
    sent.push_back("early-" + std::to_string(i));
    client.Publish("inglenook/t/request/tester", RequestText(sent.back(), "nice weather"));
    client.WaitUntil(0.05, answered);
  }
  ASSERT_TRUE(answered()) << service.process().Output();
  for (const auto& message : client.arrived()) {
    if (!message.topic.starts_with("inglenook/t/response/")) continue;
    const json event = json::parse(message.payload);
    if (event.at("type") != "error") continue;
    EXPECT_EQ(event.at("error"), "not_ready");
  }
}

}  // namespace
