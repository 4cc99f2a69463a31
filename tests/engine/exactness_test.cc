// Goal: a hit never changes a bit of logits, keys or values.
// Method: a prompt computed warm through the cache (pinned prefix, a foreign prompt in between)
// against the same prompt computed cold in a fresh process, with other workers, chunking, block
// order and instruction sets; compared with memcmp. Each warm run asserts the hit counter.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cache/kv_cache.h"
#include "engine/scheduler.h"
#include "kernels/isa.h"
#include "tests/support/model_run.h"

namespace {

using engine::TokenId;
using support::ModelRun;

std::vector<TokenId> RandomTokens(std::uint64_t seed, int count, int vocab_count) {
  std::mt19937_64 random(seed);
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) {
    tokens.push_back(TokenId{static_cast<int>(random() % static_cast<std::uint64_t>(vocab_count))});
  }
  return tokens;
}

// Runs what the reservation lacks and gives the last token's logits.
std::vector<float> RunSuffix(ModelRun& run, cache::KvCache& cache,
                             const cache::SequenceBlocks& blocks,
                             const std::vector<TokenId>& tokens, std::vector<std::byte*>& bases) {
  bases.clear();
  for (const cache::BlockId block : blocks.ids()) bases.push_back(cache.BlockBase(block));
  const auto all = std::span<const TokenId>(tokens);
  engine::Prefill(run.transformer(), all.first(all.size() - 1), blocks.reused_tokens(), bases,
                  nullptr);
  const int last = static_cast<int>(tokens.size()) - 1;
  const engine::StepSlice slice{all.last(1), last, bases, engine::StepSlice::Logits::kLast};
  run.transformer().Step({&slice, 1});
  return run.LastLogits();
}

struct Bits {
  std::vector<char> bytes;  // logits, then keys and values
};

Bits Join(const std::vector<float>& logits, const std::vector<std::byte>& stored) {
  Bits bits;
  bits.bytes.resize(logits.size() * sizeof(float) + stored.size());
  std::memcpy(bits.bytes.data(), logits.data(), logits.size() * sizeof(float));
  std::memcpy(bits.bytes.data() + logits.size() * sizeof(float), stored.data(), stored.size());
  return bits;
}

// The prompt through the cache: prefix pinned, a foreign prompt in between.
Bits Warm(const std::string& model, const std::vector<TokenId>& prompt, int prefix_tokens) {
  const int count = static_cast<int>(prompt.size());
  const auto run = ModelRun::Load(model, {.workers = 2, .context_tokens_max = count + 64});
  const int blocks = 4 * cache::BlocksFor(count);
  auto cache = cache::KvCache::Create({run->transformer().kv_layout(), blocks});
  EXPECT_TRUE(cache) << cache.error();
  const std::vector<TokenId> prefix(prompt.begin(), prompt.begin() + prefix_tokens);
  std::vector<std::byte*> bases;
  {
    auto reserved = cache->MatchAndReserve(prefix, 0, {});
    EXPECT_TRUE(reserved.has_value());
    RunSuffix(*run, *cache, *reserved, prefix, bases);
    cache->Pin(std::move(*reserved), prefix, 1);
  }
  {
    const auto foreign = RandomTokens(99, count, run->config().vocab_count);
    auto reserved = cache->MatchAndReserve(foreign, 0, {});
    EXPECT_TRUE(reserved.has_value());
    EXPECT_EQ(reserved->reused_tokens(), 0);
    RunSuffix(*run, *cache, *reserved, foreign, bases);
    cache->Commit(*reserved, foreign);
  }
  const std::uint64_t hits = cache->stats().hits;
  auto reserved = cache->MatchAndReserve(prompt, 0, {});
  EXPECT_TRUE(reserved.has_value());
  EXPECT_EQ(reserved->reused_tokens(), prefix_tokens);
  EXPECT_EQ(cache->stats().hits, hits + 1);
  const std::uint64_t rows = run->transformer().rows_computed();
  const auto logits = RunSuffix(*run, *cache, *reserved, prompt, bases);
  EXPECT_EQ(run->transformer().rows_computed() - rows,
            static_cast<std::uint64_t>(count - prefix_tokens));
  EXPECT_EQ(cache->CheckIntegrity(), "");
  return Join(logits, support::KeysAndValues(run->transformer().kv_layout(), bases, count));
}

struct Cold {
  std::string_view isa;
  int workers;
  int chunk_rows;
  int block_seed;
};

// The prompt in a process of its own.
Bits ColdProcess(const std::string& model, const std::vector<TokenId>& prompt, const Cold& cold) {
  const auto folder = std::filesystem::temp_directory_path();
  const std::string out =
      (folder / ("inglenook-exactness-" + std::to_string(std::random_device{}()))).string();
  std::ostringstream command;
  command << "INGLENOOK_ISA=" << cold.isa << " '" << INGLENOOK_EXACTNESS_PROBE << "' '" << model
          << "' '" << out << "' " << cold.workers << " " << cold.chunk_rows << " "
          << cold.block_seed;
  for (const TokenId token : prompt) command << " " << static_cast<int>(token);
  EXPECT_EQ(std::system(command.str().c_str()), 0) << cold.isa;
  std::ifstream file(out, std::ios::binary);
  Bits bits{{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}};
  std::filesystem::remove(out);
  return bits;
}

void ExpectSameBits(const Bits& a, const Bits& b, const Cold& cold) {
  ASSERT_EQ(a.bytes.size(), b.bytes.size());
  EXPECT_EQ(std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()), 0)
      << cold.isa << ", " << cold.workers << " workers, chunks of " << cold.chunk_rows;
}

TEST(Exactness, WarmEqualsColdOverChunkBordersOnEveryInstructionSet) {
  const std::string model = support::TestFile("tiny/tiny_long.gguf");
  const auto prompt = RandomTokens(5, 700, 256);
  std::vector<Bits> warm;
  for (const int prefix_tokens : {512, 600, 641, 699}) {
    warm.push_back(Warm(model, prompt, prefix_tokens));
  }
  for (const std::string_view isa : kernels::IsasOfThisCpu()) {
    for (const Cold& cold : {Cold{isa, 1, 64, 0}, Cold{isa, 2, 17, 3}, Cold{isa, 2, 1, 8}}) {
      const Bits bits = ColdProcess(model, prompt, cold);
      for (const Bits& hit : warm) ExpectSameBits(hit, bits, cold);
    }
  }
}

TEST(Exactness, WarmEqualsColdOnARealModelOnEveryInstructionSet) {
  const std::string model = support::ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  const auto prompt = RandomTokens(6, 300, 49000);
  const Bits warm = Warm(model, prompt, 287);
  for (const std::string_view isa : kernels::IsasOfThisCpu()) {
    const Cold cold{isa, isa == "scalar" ? 2 : 1, 48, 11};
    ExpectSameBits(warm, ColdProcess(model, prompt, cold), cold);
  }
}

}  // namespace
