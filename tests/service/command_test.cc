#include "service/command.h"

#include <gtest/gtest.h>

#include <string>

namespace {

using service::Command;
using service::CommandError;
using service::CommandReader;
using service::Inbound;
using service::InboundMessage;
using service::Rejected;

constexpr std::int64_t kNow = 1'700'000'000'000;

InboundMessage Message(const std::string& topic, const std::string& payload) {
  InboundMessage message;
  message.topic = topic;
  message.payload = payload;
  message.received = std::chrono::steady_clock::now();
  message.received_unix_ms = kNow;
  return message;
}

CommandReader Reader() { return CommandReader(service::Topics({}), {}); }

Inbound Request(const std::string& payload) {
  return Reader().Read(Message("inglenook/home/request/kiosk", payload));
}

std::string With(const std::string& more) {
  return R"({"v":1,"id":"7","text":"turn on the light")" + (more.empty() ? "" : "," + more) + "}";
}

CommandError ErrorOf(const Inbound& inbound) {
  const auto* rejected = std::get_if<Rejected>(&inbound);
  EXPECT_NE(rejected, nullptr);
  if (rejected == nullptr) return CommandError::kInternal;
  EXPECT_FALSE(rejected->sentence.empty());
  return rejected->error;
}

TEST(CommandReader, ReadsAllFieldsOfARequest) {
  const Inbound inbound =
      Request(With(R"("area":" the\nkitchen ","mode":"return","ttl_ms":2000,"later":[1,{}])"));
  const auto* command = std::get_if<Command>(&inbound);
  ASSERT_NE(command, nullptr);
  EXPECT_EQ(command->client, "kiosk");
  EXPECT_EQ(command->id, "7");
  EXPECT_EQ(command->text, "turn on the light");
  EXPECT_EQ(command->area, "the kitchen");
  EXPECT_EQ(command->mode, service::ActionMode::kReturn);
  EXPECT_EQ(command->deadline - command->received, std::chrono::milliseconds(2000));
  EXPECT_EQ(command->reply.topic, "inglenook/home/response/kiosk/7");
}

TEST(CommandReader, TextBecomesOneLineOfPrintableNfc) {
  const Inbound inbound =
      Request("{\"id\":\"1\",\"text\":\"\\u0000 cafe\\u0301\\r\\n\\u202e \\u2028lamp\\u0007 \"}");
  const auto* command = std::get_if<Command>(&inbound);
  ASSERT_NE(command, nullptr);
  EXPECT_EQ(command->text, "caf\xC3\xA9 lamp");
}

TEST(CommandReader, RefusesWhatIsNoRequest) {
  for (const std::string payload : {"",
                                    "hello",
                                    "[]",
                                    "{",
                                    "{}",
                                    R"({"id":7,"text":"x"})",
                                    R"({"id":"","text":"x"})",
                                    R"({"id":"a/b","text":"x"})",
                                    R"({"id":"#","text":"x"})",
                                    R"({"id":"1","text":7})",
                                    R"({"id":"1","text":""})",
                                    R"({"id":"1","text":" "})",
                                    "{\"id\":\"1\",\"text\":\"\xff\"}",
                                    R"({"id":"1","text":"\ud800"})",
                                    R"({"id":"1","text":"x","mode":"both"})",
                                    R"({"id":"1","text":"x","ttl_ms":0})",
                                    R"({"id":"1","text":"x","ttl_ms":1.5})",
                                    R"({"id":"1","text":"x","ttl_ms":99999999999999999999})",
                                    R"({"id":"1","text":"x","sent_at":-1})",
                                    R"({"id":"1","text":"x","v":"1"})"}) {
    EXPECT_EQ(ErrorOf(Request(payload)), CommandError::kBadRequest) << payload;
  }
  EXPECT_EQ(ErrorOf(Request(With(R"("v":2)"))), CommandError::kUnsupportedVersion);
}

TEST(CommandReader, LimitsHoldAtTheirEdge) {
  const auto text = [](std::size_t bytes) {
    return R"({"id":"1","text":")" + std::string(bytes, 'x') + "\"}";
  };
  EXPECT_TRUE(std::holds_alternative<Command>(Request(text(1000))));
  EXPECT_EQ(ErrorOf(Request(text(1001))), CommandError::kTooLong);
  const std::string most = text(service::kRequestBytesMax - text(0).size());
  ASSERT_EQ(most.size(), service::kRequestBytesMax);
  EXPECT_EQ(ErrorOf(Request(most)), CommandError::kTooLong);
  EXPECT_EQ(std::get<Rejected>(Request(most)).id, "1");        // it was read
  EXPECT_EQ(std::get<Rejected>(Request(most + " ")).id, "-");  // it was not
  const auto nested = [](int depth) {
    return With(R"("x":)" + std::string(static_cast<std::size_t>(depth), '[') +
                std::string(static_cast<std::size_t>(depth), ']'));
  };
  EXPECT_TRUE(std::holds_alternative<Command>(Request(nested(service::kJsonDepthMax - 1))));
  EXPECT_EQ(ErrorOf(Request(nested(service::kJsonDepthMax))), CommandError::kBadRequest);
  EXPECT_TRUE(std::holds_alternative<Command>(Request(With(R"("x":"[[[[[[[[[[[[\"[[[[")"))));
  EXPECT_EQ(ErrorOf(Request(std::string(10'000, '['))), CommandError::kBadRequest);
}

TEST(CommandReader, TellsLateCommandsByEitherClock) {
  const auto sent = [](std::int64_t at) {
    return With(R"("ttl_ms":1000,"sent_at":)" + std::to_string(at));
  };
  EXPECT_TRUE(std::holds_alternative<Command>(Request(sent(kNow - 999))));
  EXPECT_EQ(ErrorOf(Request(sent(kNow - 1000))), CommandError::kExpired);
  const Inbound ahead = Request(sent(kNow + 1'000'000));  // a clock that runs ahead
  EXPECT_EQ(std::get<Command>(ahead).deadline - std::get<Command>(ahead).received,
            std::chrono::milliseconds(1000));
  InboundMessage message = Message("inglenook/home/request/kiosk", With(""));
  message.expiry_seconds = 2;
  const Inbound soon = Reader().Read(message);
  EXPECT_EQ(std::get<Command>(soon).deadline - std::get<Command>(soon).received,
            std::chrono::milliseconds(2000));
  message.expiry_seconds = 0;
  EXPECT_EQ(ErrorOf(Reader().Read(message)), CommandError::kExpired);
}

TEST(CommandReader, RetainedAndForeignMessagesAreIgnored) {
  InboundMessage message = Message("inglenook/home/request/kiosk", With(""));
  message.retained = true;
  EXPECT_TRUE(std::holds_alternative<service::Ignored>(Reader().Read(message)));
  for (const char* topic : {"", "inglenook/other/request/kiosk", "inglenook/home/request/a/b",
                            "inglenook/home/ask/me", "inglenook/home/set/x"}) {
    EXPECT_TRUE(std::holds_alternative<service::Ignored>(Reader().Read(Message(topic, With("")))))
        << topic;
  }
}

TEST(CommandReader, PlainTextGetsIdsThatNeverRepeat) {
  const CommandReader reader = Reader();
  const Inbound first = reader.Read(Message("inglenook/home/ask", "turn on the light"));
  const Inbound second = reader.Read(Message("inglenook/home/ask", "turn on the light"));
  EXPECT_TRUE(std::get<Command>(first).is_ask);
  EXPECT_NE(std::get<Command>(first).id, std::get<Command>(second).id);
  EXPECT_EQ(ErrorOf(reader.Read(Message("inglenook/home/ask", "\xff"))), CommandError::kBadRequest);
}

TEST(CommandReader, ACancellationNamesClientAndId) {
  const Inbound inbound = Reader().Read(Message("inglenook/home/cancel/kiosk/7", ""));
  EXPECT_EQ(std::get<service::Cancellation>(inbound).client, "kiosk");
  EXPECT_EQ(std::get<service::Cancellation>(inbound).id, "7");
}

TEST(Command, EveryErrorHasItsWord) {
  EXPECT_EQ(CommandErrorWord(CommandError::kBusy), "busy");
  EXPECT_EQ(CommandErrorWord(CommandError::kNotReady), "not_ready");
  EXPECT_EQ(CommandErrorWord(CommandError::kUnsupportedVersion), "unsupported_version");
  EXPECT_EQ(CommandErrorWord(CommandError::kInternal), "internal");
}

TEST(Topics, AnswersGoOnlyWhereNobodyIsSteered) {
  const service::Topics topics({});
  for (const char* topic : {"inglenook/home/response/x", "kiosk/answers", "kiosk/a/b"}) {
    EXPECT_TRUE(topics.MayRespondTo(topic, "kiosk")) << topic;
  }
  for (const char* topic :
       {"", "kiosk", "kiosk/", "kiosk/+", "kiosk/#", "other/answers", "zigbee2mqtt/lamp/set",
        "inglenook/home/response/", "inglenook/home/request/kiosk", "$SYS/x", "kiosk/\x01"}) {
    EXPECT_FALSE(topics.MayRespondTo(topic, "kiosk")) << topic;
  }
  EXPECT_FALSE(topics.MayRespondTo("inglenook/home/request/x", "inglenook"));
  EXPECT_FALSE(topics.MayRespondTo("homeassistant/light/x/config", "homeassistant"));
}

}  // namespace
