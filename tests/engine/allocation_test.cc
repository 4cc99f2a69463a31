// Goal: a step allocates nothing.
// Method: the global operator new counts while prefill chunks and single tokens run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "tests/support/model_run.h"
#include "tests/support/tiny_model.h"

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

using engine::TensorType;

class Allocation : public testing::TestWithParam<TensorType> {};

TEST_P(Allocation, AStepAllocatesNothing) {
  support::TinyModelOptions options;
  options.matrix_type = GetParam();
  options.context_tokens_max = 128;
  const std::string path =
      testing::TempDir() + "inglenook-allocation-" + std::to_string(getpid()) + ".gguf";
  support::TinyModel(options).WriteFile(path);
  const auto run = support::ModelRun::Load(path, {.workers = 2});
  std::remove(path.c_str());
  const std::vector<engine::TokenId> tokens(100, engine::TokenId{3});
  const auto all = std::span<const engine::TokenId>(tokens);
  run->Prefill(all.first(64), 64);  // the first step may make the team's threads
  const long before = g_allocations;
  run->Prefill(all.first(95), 31);
  for (std::size_t count = 96; count <= 100; ++count) run->Prefill(all.first(count), 1);
  EXPECT_EQ(g_allocations, before);
}

// F32 is the reference path: oneDNN allocates inside its calls.
INSTANTIATE_TEST_SUITE_P(Formats, Allocation,
                         testing::Values(TensorType::kF16, TensorType::kBF16, TensorType::kQ8_0,
                                         TensorType::kQ4_0, TensorType::kQ4_1));

}  // namespace
