// Goal: the control flow of a command, with every way in which it can end.
// Method: the real engine with a tiny model and the small home; a broker in memory.
#include "service/assistant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "integrations/home_assistant/home_assistant.h"
#include "service/config_loader.h"
#include "service/run_service.h"
#include "tests/support/fake_transport.h"
#include "tests/support/talking_model.h"

namespace {

using nlohmann::json;
using service::Assistant;
using service::Command;
using service::Inbound;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class AssistantTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string folder = std::string(INGLENOOK_SOURCE_DIR) + "/tests/data/small_home/";
    auto home = service::LoadDocuments(
        {folder + "policy.yaml", folder + "tools.yaml", folder + "house.yaml"});
    ASSERT_TRUE(home) << home.error();
    auto integration = integrations::home_assistant::Create(std::move(*home));
    ASSERT_TRUE(integration) << integration.error();
    integration_ = integration->release();
    engine::EngineOptions options;
    options.model_path = support::TalkingModelFile();
    options.workers = 1;
    options.answer_tokens_max = 256;
    options.queue_length_max = 4;
    auto engine = engine::Engine::Load(options, nullptr);
    ASSERT_TRUE(engine) << engine.error();
    engine_ = engine->release();
    const auto prefix = engine_->SetPrefix(service::PrefixSourceOf(*integration_),
                                           service::AnswerLanguageOf(*integration_), nullptr);
    ASSERT_TRUE(prefix) << prefix.error();
    prefix_ = *prefix;
  }
  static void TearDownTestSuite() {
    delete engine_;
    delete integration_;
  }

  AssistantTest() {
    service::AssistantOptions options;
    options.queue_length_max = 4;
    assistant_ = std::make_unique<Assistant>(options, transport_, queue_, history_, *integration_);
    transport_.Connect();
  }
  ~AssistantTest() override {
    while (!engine_->Idle()) engine_->Step(engine::Clock::now());
  }

  void Push(const std::string& id, const std::string& text,
            std::chrono::milliseconds ttl = std::chrono::seconds(60)) {
    Command command;
    command.client = "kiosk";
    command.id = id;
    command.text = text;
    command.reply.topic = "r/" + id;
    command.received = std::chrono::steady_clock::now();
    command.deadline = command.received + ttl;
    ASSERT_TRUE(queue_.TryPush(command));
  }
  void Turns(int count) {
    for (int i = 0; i < count; ++i) assistant_->Turn(false);
  }
  // Until nothing runs and a turn more.
  void Settle() {
    Turns(1);
    for (int i = 0; i < 2000 && !engine_->Idle(); ++i) Turns(1);
    Turns(2);
  }
  std::vector<std::string> Types(const std::string& id) const {
    std::vector<std::string> types;
    for (const std::string& payload : transport_.On("r/" + id)) {
      const std::string type = json::parse(payload).at("type");
      if (type != "delta") types.push_back(type);
    }
    return types;
  }
  json LastEvent(const std::string& id) const {
    return json::parse(transport_.On("r/" + id).back());
  }

  static integrations::Integration* integration_;
  static engine::Engine* engine_;
  static engine::PrefixInfo prefix_;
  support::FakeTransport transport_;
  service::CommandQueue<Inbound> queue_{64, 64};
  service::CommandHistory history_{"", 0};
  std::unique_ptr<Assistant> assistant_;
};

integrations::Integration* AssistantTest::integration_ = nullptr;
engine::Engine* AssistantTest::engine_ = nullptr;
engine::PrefixInfo AssistantTest::prefix_;

TEST_F(AssistantTest, BeforeItServesCommandsAreAnsweredNotReady) {
  assistant_->Enter(service::State::kWarming);
  Push("1", "turn on the hall light");
  Turns(1);
  EXPECT_EQ(LastEvent("1").at("error"), "not_ready");
  assistant_->Serve(*engine_, prefix_);
  Turns(1);
  EXPECT_THAT(transport_.On("inglenook/home/state"), ElementsAre("warming", "ready"));
  Push("1", "turn on the hall light");  // a refused one may come again
  Settle();
  EXPECT_EQ(LastEvent("1").at("type"), "final");
}

TEST_F(AssistantTest, TheFinalWaitsUntilTheBrokerHasTheAction) {
  assistant_->Serve(*engine_, prefix_);
  Turns(1);
  transport_.acknowledges_at_once = false;
  Push("1", "turn on the hall light");
  Settle();
  EXPECT_THAT(Types("1"), ElementsAre("accepted", "call"));
  EXPECT_THAT(transport_.On("test/hall_light/set"), ElementsAre("ON"));
  transport_.AcknowledgeAll();
  Turns(2);
  EXPECT_THAT(Types("1"), ElementsAre("accepted", "call", "final"));
  EXPECT_EQ(LastEvent("1").at("actions")[0].at("status"), "done");
  EXPECT_EQ(LastEvent("1").at("usage").at("reused"), prefix_.tokens);
  EXPECT_EQ(LastEvent("1").at("reuse"), "hit");
}

TEST_F(AssistantTest, AConnectionLostUnderAnActionIsToldAndTheActionIsNotRepeated) {
  assistant_->Serve(*engine_, prefix_);
  Turns(1);
  transport_.acknowledges_at_once = false;
  Push("1", "turn on the hall light");
  Settle();
  transport_.Disconnect();
  Turns(2);
  transport_.acknowledges_at_once = true;
  transport_.Connect();
  Turns(2);
  EXPECT_THAT(transport_.On("test/hall_light/set"), SizeIs(1));
  EXPECT_EQ(LastEvent("1").at("actions")[0].at("status"), "unknown");
  EXPECT_EQ(LastEvent("1").at("text"), "I could not reach the hall light.");
  EXPECT_THAT(transport_.subscribed, testing::Not(IsEmpty()));
}

TEST_F(AssistantTest, WhileTheBrokerIsAwayTheQueueIsServedAndTheFinalsAreKept) {
  assistant_->Serve(*engine_, prefix_);
  Turns(1);
  Push("1", "nice weather");
  Push("2", "nice weather");
  transport_.Disconnect();
  Settle();
  EXPECT_THAT(Types("1"), IsEmpty());
  transport_.Connect();
  Turns(1);
  for (const char* id : {"1", "2"}) EXPECT_THAT(Types(id), ElementsAre("accepted", "final"));
}

TEST_F(AssistantTest, ADuplicateActsOnceAndGetsTheSameFinal) {
  assistant_->Serve(*engine_, prefix_);
  Push("1", "turn on the hall light");
  Push("1", "turn on the hall light");  // while the first one runs
  Settle();
  EXPECT_THAT(Types("1"), ElementsAre("accepted", "call", "final"));
  Push("1", "turn on the hall light");
  Settle();
  EXPECT_THAT(Types("1"), ElementsAre("accepted", "call", "final", "final"));
  const auto events = transport_.On("r/1");
  EXPECT_EQ(events[events.size() - 1], events[events.size() - 2]);
  EXPECT_THAT(transport_.On("test/hall_light/set"), SizeIs(1));
}

TEST_F(AssistantTest, AFullQueueAnswersBusyAndShowsIt) {
  assistant_->Serve(*engine_, prefix_);
  for (int i = 1; i <= 5; ++i) Push(std::to_string(i), "nice weather");
  Turns(1);
  EXPECT_EQ(LastEvent("5").at("error"), "busy");
  EXPECT_EQ(transport_.On("inglenook/home/state").back(), "busy");
  Settle();
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(LastEvent(std::to_string(i)).at("type"), "final");
  }
  Turns(1);
  EXPECT_EQ(transport_.On("inglenook/home/state").back(), "ready");
}

TEST_F(AssistantTest, LateCommandsEndWithAnErrorBeforeAndWhileTheyRun) {
  assistant_->Serve(*engine_, prefix_);
  Push("1", "nice weather", std::chrono::milliseconds(0));
  Turns(1);
  EXPECT_EQ(LastEvent("1").at("error"), "expired");
  Push("2", "nice weather", std::chrono::milliseconds(30));
  Turns(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  Settle();
  EXPECT_EQ(LastEvent("2").at("error"), "timeout");
}

TEST_F(AssistantTest, ACancelledCommandEndsWithAFinalThatSaysSo) {
  assistant_->Serve(*engine_, prefix_);
  Push("1", "turn on the hall light");
  ASSERT_TRUE(queue_.TryPushReserved(service::Cancellation{"kiosk", "1"}));
  Settle();
  EXPECT_EQ(LastEvent("1").at("finish"), "cancelled");
  EXPECT_THAT(transport_.On("test/hall_light/set"), IsEmpty());
}

TEST_F(AssistantTest, StoppingAnswersEverybodyAndSaysOffline) {
  assistant_->Serve(*engine_, prefix_);
  Push("1", "nice weather");
  Turns(1);
  Push("2", "nice weather");
  assistant_->Stop(std::chrono::milliseconds(0));
  EXPECT_EQ(LastEvent("1").at("error"), "not_ready");
  EXPECT_EQ(LastEvent("2").at("error"), "not_ready");
  EXPECT_EQ(transport_.On("inglenook/home/status").back(), "offline");
}

TEST_F(AssistantTest, SaysOnlineAgainWhenAnOldConnectionsWillSaysOffline) {
  assistant_->Serve(*engine_, prefix_);
  Turns(1);
  ASSERT_TRUE(queue_.TryPushReserved(service::OtherService{false}));
  Turns(2);
  EXPECT_THAT(transport_.On("inglenook/home/status"), ElementsAre("online", "online"));
}

TEST_F(AssistantTest, TellsItsCallerToStopWhenAnotherServiceTookItsPlace) {
  assistant_->Serve(*engine_, prefix_);
  EXPECT_EQ(assistant_->Turn(false), Assistant::Outcome::kGoOn);
  queue_.Raise(service::Signal::kStop);
  EXPECT_EQ(assistant_->Turn(true), Assistant::Outcome::kStop);
  ASSERT_TRUE(queue_.TryPushReserved(service::OtherService{true}));
  EXPECT_EQ(assistant_->Turn(false), Assistant::Outcome::kTakenOver);
  assistant_->Stop(std::chrono::milliseconds(0));
  EXPECT_THAT(transport_.On("inglenook/home/status"), ElementsAre("online"));
}

}  // namespace
