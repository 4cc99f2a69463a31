// Goal: memory does not grow with commands, and an idle service uses no CPU.
// Method: the real program on a real Mosquitto; /proc before and after.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "tests/support/test_service.h"

namespace {

using support::RequestText;
using support::TestBroker;
using support::TestClient;
using support::TestService;

// The history holds 1,024 commands; the full run goes round it.
constexpr int kCommands = INGLENOOK_SOAK_COMMANDS;
constexpr int kWarmUp = 200;
constexpr long kGrowthKibMax = 1024;
constexpr double kIdleSeconds = 12;
constexpr double kIdleShareMax = 0.005;

void SendAll(TestClient& client, const TestService& service, int from, int to) {
  for (int i = from; i < to; ++i) {
    const std::string id = "soak-" + std::to_string(i);
    const std::string text = i % 3 == 0   ? "turn on the kitchen light"
                             : i % 3 == 1 ? "nice weather today, number " + std::to_string(i)
                                          : "open the garage door";
    client.Publish(service.Topic("request/tester"), RequestText(id, text));
    ASSERT_TRUE(client.WaitUntil(
        30, [&] { return client.Last(service.Topic("response/tester/" + id)).has_value(); }))
        << id << '\n'
        << service.Topic("");
    client.Forget();
  }
}

TEST(Soak, MemoryDoesNotGrowAndIdleTakesNoCpu) {
  TestBroker broker;
  TestService service({.url = broker.url()});
  TestClient client(broker.url(), "tester", {"inglenook/t/#"});
  ASSERT_TRUE(support::WaitUntilReady(client, service)) << service.process().Output();
  SendAll(client, service, 0, kWarmUp);
  const long before = service.process().ResidentKib();
  SendAll(client, service, kWarmUp, kCommands);
  const long after = service.process().ResidentKib();
  std::cout << kCommands << " commands: resident " << before << " KiB after " << kWarmUp << ", "
            << after << " KiB at the end\n";
  EXPECT_LE(after - before, kGrowthKibMax);

  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double cpu_before = service.process().CpuSeconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(kIdleSeconds));
  const double share = (service.process().CpuSeconds() - cpu_before) / kIdleSeconds;
  std::cout << "idle: " << 100 * share << " % of a core\n";
  EXPECT_LT(share, kIdleShareMax);
  EXPECT_EQ(service.Stop(), 0);
}

}  // namespace
