// Goal: a step allocates nothing.
// Method: the global operator new counts while prefill chunks and single tokens run.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "tests/support/model_run.h"

namespace {
std::atomic<long> g_allocations{0};
}  // namespace

void* operator new(std::size_t bytes) {
  ++g_allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

class Allocation : public testing::TestWithParam<const char*> {};

TEST_P(Allocation, AStepAllocatesNothing) {
  const auto run = support::ModelRun::Load(support::TestFile(GetParam()), {.workers = 2});
  const std::vector<engine::TokenId> tokens(100, engine::TokenId{42});
  const auto all = std::span<const engine::TokenId>(tokens);
  run->Prefill(all.first(64), 64);  // the first step may make the team's threads
  const long before = g_allocations;
  run->Prefill(all.first(95), 31);
  for (std::size_t count = 96; count <= 100; ++count) run->Prefill(all.first(count), 1);
  EXPECT_EQ(g_allocations, before);
}

INSTANTIATE_TEST_SUITE_P(Formats, Allocation,
                         testing::Values("tiny/tiny.gguf", "tiny/tiny_q4_0.gguf",
                                         "tiny/tiny_q4_1.gguf", "tiny/tiny_q8_0.gguf",
                                         "tiny/tiny_f16.gguf", "tiny/tiny_bf16.gguf"));

}  // namespace
