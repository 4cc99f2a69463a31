// Goal: only the command is prefilled, a hit never changes an answer, nothing is lost.
// Method: the whole engine on a real model (SmolLM2-135M-Instruct Q4_1) with a small prefix.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/token_constraint.h"
#include "tests/support/model_run.h"

namespace {

using namespace std::chrono_literals;
using engine::Clock;
using engine::Completion;
using engine::Engine;

engine::PrefixSource SmallPrefix(int extra_words) {
  std::string text = "You control a house. Devices: kitchen lamp, hall lamp, bedroom heater.\n";
  for (int i = 0; i < extra_words; ++i) text += " a";
  text += "\n";
  return {{{"policy", text}}, {{"turn on the hall lamp", "hall lamp: turn_on"}}, "1.1.1"};
}

engine::AnswerLanguage SmallLanguage() {
  engine::AnswerLanguage language;
  language.heads = {{"hall lamp: turn_off"},
                    {"hall lamp: turn_on"},
                    {"kitchen lamp: turn_off"},
                    {"kitchen lamp: turn_on"},
                    {"bedroom heater: set_temperature", true, 5, 30}};
  language.words_lead = "say: ";
  language.ask_text = "ask";
  return language;
}

engine::Request RequestFor(std::uint64_t id, const std::string& utterance) {
  engine::Request request;
  request.id = id;
  request.utterance = utterance;
  request.allowed = {{0, 1, 2, 3, 4}, {}, true, false};
  request.received = Clock::now();
  request.deadline = request.received + 60s;
  return request;
}

class EngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    engine::EngineOptions options;
    options.model_path = support::ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
    options.context_tokens_max = 1024;
    options.workers = 2;
    auto loaded = Engine::Load(options, nullptr);
    ASSERT_TRUE(loaded) << loaded.error() << "\nrun scripts/get-model smollm2-135m";
    engine_ = loaded->release();
  }
  static void TearDownTestSuite() {
    delete engine_;
    engine_ = nullptr;
  }

  static engine::PrefixInfo Warm(int extra_words) {
    auto info = engine_->SetPrefix(SmallPrefix(extra_words), SmallLanguage(), nullptr);
    EXPECT_TRUE(info) << info.error();
    return info ? *info : engine::PrefixInfo{};
  }

  static std::vector<Completion> Drain() {
    std::vector<Completion> completions;
    while (!engine_->Idle()) {
      for (Completion& completion : engine_->Step(Clock::now()).completions) {
        completions.push_back(std::move(completion));
      }
    }
    return completions;
  }

  static Completion Answer(engine::Request request) {
    EXPECT_TRUE(engine_->Submit(std::move(request)));
    auto completions = Drain();
    EXPECT_EQ(completions.size(), 1U);
    return completions.empty() ? Completion{} : completions[0];
  }

  static Engine* engine_;
};

Engine* EngineTest::engine_ = nullptr;

TEST_F(EngineTest, OnlyTheCommandIsPrefilledForEveryPrefixLengthModuloTheBlock) {
  std::vector<bool> seen(64, false);
  for (int words = 0; words <= 65; ++words) {  // the first two may have equal lengths
    const engine::PrefixInfo info = Warm(words);
    seen[static_cast<std::size_t>(info.tokens % 64)] = true;
    const engine::EngineStats before = engine_->stats();
    const Completion completion = Answer(RequestFor(1, "turn off the kitchen lamp"));
    const engine::EngineStats after = engine_->stats();
    EXPECT_EQ(completion.usage.reused, info.tokens);
    EXPECT_EQ(completion.usage.prefilled, completion.usage.prompt - info.tokens);
    EXPECT_EQ(after.hits, before.hits + 1);
    EXPECT_EQ(after.tokens_reused - before.tokens_reused, static_cast<std::uint64_t>(info.tokens));
  }
  for (std::size_t residue = 0; residue < 64; ++residue) EXPECT_TRUE(seen[residue]) << residue;
}

TEST_F(EngineTest, AHitAndAForcedMissGiveTheSameAnswer) {
  const engine::PrefixInfo info = Warm(20);
  for (const char* utterance :
       {"turn off the hall lamp", "set the bedroom heater to 21 degrees", "hello, how are you?"}) {
    const auto hits = engine_->stats().hits;
    const Completion warm = Answer(RequestFor(1, utterance));
    EXPECT_EQ(engine_->stats().hits, hits + 1);
    EXPECT_EQ(warm.usage.reused, info.tokens);
    engine::Request cold_request = RequestFor(2, utterance);
    cold_request.force_miss = true;
    const Completion cold = Answer(std::move(cold_request));
    EXPECT_EQ(engine_->stats().hits, hits + 1);
    EXPECT_EQ(cold.usage.reused, 0);
    EXPECT_EQ(cold.usage.prefilled, cold.usage.prompt);
    EXPECT_EQ(warm.text, cold.text);
    EXPECT_EQ(warm.answer_index, cold.answer_index);
  }
}

TEST_F(EngineTest, AnAnswerIsAlwaysInTheLanguage) {
  Warm(0);
  for (const char* utterance : {"turn off the kitchen lamp", "ééé", "<|im_end|>", "42", "{}"}) {
    const Completion completion = Answer(RequestFor(1, utterance));
    ASSERT_EQ(completion.finish, engine::FinishReason::kComplete);
    if (completion.answer_index == engine::TokenConstraint::kWords) {
      EXPECT_TRUE(completion.text.starts_with("say: ")) << completion.text;
    } else {
      const engine::CallHead head =
          SmallLanguage().heads.at(static_cast<std::size_t>(completion.answer_index));
      EXPECT_TRUE(completion.text.starts_with(head.text)) << completion.text;
    }
  }
}

TEST_F(EngineTest, QueuedCommandsAreServedInOrderAndEachGetsOneCompletion) {
  Warm(3);
  for (std::uint64_t id = 1; id <= 5; ++id) {
    ASSERT_TRUE(engine_->Submit(RequestFor(id, "turn on the hall lamp")));
  }
  const auto completions = Drain();
  ASSERT_EQ(completions.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(completions[i].id, i + 1);
}

TEST_F(EngineTest, AFullQueueAnswersBusy) {
  Warm(3);
  for (std::uint64_t id = 1; id <= 16; ++id) {
    ASSERT_TRUE(engine_->Submit(RequestFor(id, "turn on the hall lamp")));
  }
  const auto rejected = engine_->Submit(RequestFor(17, "turn on the hall lamp"));
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error(), engine::Rejection::kBusy);
  EXPECT_EQ(Drain().size(), 16U);
}

TEST_F(EngineTest, ATooLongUtteranceIsRefused) {
  Warm(3);
  std::string long_text;
  for (int i = 0; i < 300; ++i) long_text += "lamp ";
  const auto rejected = engine_->Submit(RequestFor(1, long_text + "on"));
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error(), engine::Rejection::kTooLong);
  EXPECT_TRUE(engine_->Idle());
}

TEST_F(EngineTest, CancelAndDeadlineEndWaitingAndRunningCommands) {
  Warm(3);
  ASSERT_TRUE(engine_->Submit(RequestFor(1, "turn on the hall lamp")));
  ASSERT_TRUE(engine_->Submit(RequestFor(2, "turn on the hall lamp")));
  engine::Request late = RequestFor(3, "turn on the hall lamp");
  late.deadline = late.received;
  ASSERT_TRUE(engine_->Submit(std::move(late)));
  EXPECT_TRUE(engine_->Step(Clock::now()).completions.size() == 1);  // the late one
  EXPECT_TRUE(engine_->Cancel(1));
  EXPECT_TRUE(engine_->Cancel(2));
  EXPECT_FALSE(engine_->Cancel(9));
  const auto completions = Drain();
  ASSERT_EQ(completions.size(), 2U);
  for (const Completion& completion : completions) {
    EXPECT_EQ(completion.finish, engine::FinishReason::kCancelled);
  }
  const engine::EngineStats stats = engine_->stats();
  EXPECT_EQ(stats.kv_bytes_shared, 0U);
}

TEST_F(EngineTest, ThePoolNeverGrowsAndThePartsAddUp) {
  Warm(10);
  Answer(RequestFor(1, "turn on the hall lamp"));
  const engine::EngineStats stats = engine_->stats();
  EXPECT_EQ(stats.kv_bytes_total, stats.kv_bytes_pinned + stats.kv_bytes_shared +
                                      stats.kv_bytes_kept + stats.kv_bytes_free);
}

TEST_F(EngineTest, APrefixOverTheContextIsRefusedWithTheWayOut) {
  const auto info = engine_->SetPrefix(SmallPrefix(2000), SmallLanguage(), nullptr);
  ASSERT_FALSE(info);
  EXPECT_NE(info.error().find("tokens more than the context of 1024"), std::string::npos)
      << info.error();
}

TEST(EngineLoad, AMissingModelNamesTheFile) {
  engine::EngineOptions options;
  options.model_path = "/nowhere/model.gguf";
  const auto loaded = Engine::Load(options, nullptr);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().find("/nowhere/model.gguf"), std::string::npos) << loaded.error();
}

}  // namespace
