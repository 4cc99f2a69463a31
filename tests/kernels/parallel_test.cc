#include "kernels/parallel.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace {

TEST(Team, EachWorkerRunsTheStepOnce) {
  kernels::Team team(3);
  std::vector<int> runs(3);
  for (int step = 0; step < 50; ++step) {
    team.Run([&](kernels::Worker& worker) {
      ++runs[static_cast<std::size_t>(worker.index())];
      EXPECT_EQ(worker.count(), team.worker_count());
    });
  }
  for (int i = 0; i < team.worker_count(); ++i) EXPECT_EQ(runs[static_cast<std::size_t>(i)], 50);
}

TEST(Team, SharesCoverEveryItemOnce) {
  kernels::Team team(3);
  for (const int items : {0, 1, 2, 3, 7, 100}) {
    std::multiset<int> seen;
    for (int i = 0; i < team.worker_count(); ++i) {
      const kernels::Range share = kernels::Worker(&team, i).Share(items);
      for (int item = share.begin; item < share.end; ++item) seen.insert(item);
    }
    EXPECT_EQ(static_cast<int>(seen.size()), items);
    for (int item = 0; item < items; ++item) EXPECT_EQ(seen.count(item), 1U);
  }
}

// Goal: what was written before a barrier is seen after it, over many barriers of many steps.
// Method: each worker adds up what all wrote in the round before.
TEST(Team, ABarrierMakesTheOthersWritesVisible) {
  kernels::Team team(3);
  const auto count = static_cast<std::size_t>(team.worker_count());
  std::vector<int> written(count);
  std::vector<int> wrong(count);
  for (int step = 0; step < 10; ++step) {
    team.Run([&](kernels::Worker& worker) {
      const auto self = static_cast<std::size_t>(worker.index());
      for (int round = 1; round <= 50; ++round) {
        written[self] = round;
        worker.Barrier();
        for (const int value : written) wrong[self] += value == round ? 0 : 1;
        worker.Barrier();
      }
    });
  }
  for (const int count_wrong : wrong) EXPECT_EQ(count_wrong, 0);
}

TEST(UsableCores, IsAtLeastOne) { EXPECT_GE(kernels::UsableCores(), 1); }

}  // namespace
