#include "service/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "service/actuator.h"
#include "tests/support/fake_transport.h"

namespace {

using service::ActionOutcome;
using service::Actuator;
using service::OutboundMessage;
using service::Outbox;
using support::FakeTransport;
using testing::ElementsAre;
using testing::IsEmpty;

OutboundMessage Message(const std::string& payload, const std::string& topic = "t") {
  OutboundMessage message;
  message.topic = topic;
  message.payload = payload;
  return message;
}

TEST(Outbox, KeepsMessagesInOrderUntilThereIsAConnection) {
  FakeTransport transport;
  Outbox outbox(transport, 10);
  outbox.Send(Message("1"));
  outbox.Send(Message("2"));
  outbox.SendOrDrop(Message("lost"));
  EXPECT_THAT(transport.On("t"), IsEmpty());
  transport.Connect();
  outbox.Pump();
  EXPECT_THAT(transport.On("t"), ElementsAre("1", "2"));
  outbox.Pump();
  EXPECT_EQ(outbox.waiting_count(), 0U);
}

TEST(Outbox, SendsAgainWhatTheLostConnectionHadNotAcknowledged) {
  FakeTransport transport;
  transport.acknowledges_at_once = false;
  transport.Connect();
  Outbox outbox(transport, 10);
  outbox.Send(Message("1"));
  transport.AcknowledgeAll();
  outbox.Send(Message("2"));
  transport.Disconnect();
  outbox.Send(Message("3"));
  transport.Connect();
  outbox.Pump();
  EXPECT_THAT(transport.On("t"), ElementsAre("1", "2", "2", "3"));
  transport.AcknowledgeAll();
  outbox.Pump();
  EXPECT_EQ(outbox.waiting_count(), 0U);
}

TEST(Outbox, WaitsForRoomAndKeepsTheOrder) {
  FakeTransport transport;
  transport.acknowledges_at_once = false;
  transport.in_flight_max = 1;
  transport.Connect();
  Outbox outbox(transport, 10);
  for (const char* payload : {"1", "2", "3"}) outbox.Send(Message(payload));
  EXPECT_THAT(transport.On("t"), ElementsAre("1"));
  for (int i = 0; i < 3; ++i) {
    transport.AcknowledgeAll();
    outbox.Pump();
  }
  EXPECT_THAT(transport.On("t"), ElementsAre("1", "2", "3"));
}

TEST(Outbox, RetainedTopicsAreSentOnEveryConnectionWithTheirLastValue) {
  FakeTransport transport;
  Outbox outbox(transport, 10);
  outbox.SetRetained(Message("loading", "state"));
  outbox.SetRetained(Message("ready", "state"));
  transport.Connect();
  outbox.Pump();
  transport.Connect();
  outbox.Pump();
  EXPECT_THAT(transport.On("state"), ElementsAre("ready", "ready"));
  EXPECT_TRUE(transport.published[0].retained);
}

TEST(Outbox, DropsAndCountsTheOldestBeyondItsLimit) {
  FakeTransport transport;
  Outbox outbox(transport, 2);
  for (const char* payload : {"1", "2", "3"}) outbox.Send(Message(payload));
  EXPECT_EQ(outbox.dropped_count(), 1U);
  transport.Connect();
  outbox.Pump();
  EXPECT_THAT(transport.On("t"), ElementsAre("2", "3"));
}

class ActuatorTest : public testing::Test {
 protected:
  ActuatorTest() { transport_.acknowledges_at_once = false; }
  void Start() { actuator_.Start(7, {"lamp/set", "ON", false}, now_ + std::chrono::seconds(5)); }
  // The outcome of the one action that ended, if any.
  std::optional<ActionOutcome> Poll() {
    const auto ended = actuator_.Poll(now_);
    if (ended.empty()) return std::nullopt;
    EXPECT_EQ(ended[0].key, 7U);
    return ended[0].outcome;
  }

  FakeTransport transport_;
  Actuator actuator_{transport_};
  Actuator::Time now_ = std::chrono::steady_clock::now();
};

TEST_F(ActuatorTest, AnActionIsDoneWhenTheBrokerHasIt) {
  transport_.Connect();
  Start();
  EXPECT_EQ(Poll(), std::nullopt);
  transport_.AcknowledgeAll();
  EXPECT_EQ(Poll(), ActionOutcome::kDone);
  EXPECT_TRUE(actuator_.idle());
  EXPECT_THAT(transport_.On("lamp/set"), ElementsAre("ON"));
}

TEST_F(ActuatorTest, WithoutAConnectionItWaitsForOneUntilItsDeadline) {
  Start();
  EXPECT_EQ(Poll(), std::nullopt);
  EXPECT_EQ(actuator_.NextDeadline(), now_ + std::chrono::seconds(5));
  transport_.Connect();
  EXPECT_EQ(Poll(), std::nullopt);
  transport_.AcknowledgeAll();
  EXPECT_EQ(Poll(), ActionOutcome::kDone);

  transport_.Disconnect();
  Start();
  now_ += std::chrono::seconds(5);
  EXPECT_EQ(Poll(), ActionOutcome::kFailed);
  transport_.Connect();
  EXPECT_EQ(Poll(), std::nullopt);
  EXPECT_THAT(transport_.On("lamp/set"), ElementsAre("ON"));
}

TEST_F(ActuatorTest, ALostConnectionLeavesItUnknownAndItIsNotSentTwice) {
  transport_.Connect();
  Start();
  Poll();
  transport_.Connect();  // gone and back
  EXPECT_EQ(Poll(), ActionOutcome::kUnknown);
  EXPECT_EQ(Poll(), std::nullopt);
  EXPECT_THAT(transport_.On("lamp/set"), ElementsAre("ON"));
}

}  // namespace
