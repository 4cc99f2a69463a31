#include "kernels/numa_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace {

TEST(NumaMemory, IsZeroedAlignedAndAtLeastAsLargeAsAskedFor) {
  auto memory = kernels::NumaMemory::Allocate((5 << 20) + 1, -1);
  ASSERT_TRUE(memory.has_value());
  EXPECT_GE(memory->size(), (std::size_t{5} << 20) + 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->bytes()) % (2 << 20), 0U);
  memory->Touch();
  for (std::size_t i = 0; i < memory->size(); i += 1021)
    EXPECT_EQ(memory->bytes()[i], std::byte{0});
}

TEST(NumaMemory, MovesLeaveOneOwner) {
  auto memory = kernels::NumaMemory::Allocate(4096, 0);
  ASSERT_TRUE(memory.has_value());
  std::byte* bytes = memory->bytes();
  kernels::NumaMemory moved = std::move(*memory);
  kernels::NumaMemory assigned;
  assigned = std::move(moved);
  EXPECT_EQ(assigned.bytes(), bytes);
}

TEST(NumaMemory, AnImpossibleSizeGetsASentenceThatNamesIt) {
  const auto memory = kernels::NumaMemory::Allocate(std::size_t{1} << 60, -1);
  ASSERT_FALSE(memory.has_value());
  EXPECT_THAT(memory.error(), testing::HasSubstr("1099511627776 MiB"));
}

TEST(NumaTopology, HasANodeWithCpus) {
  const auto topology = kernels::NumaTopology::OfThisMachine();
  ASSERT_FALSE(topology.nodes.empty());
  EXPECT_FALSE(topology.nodes.front().cpus.empty());
}

}  // namespace
