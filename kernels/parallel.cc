#include "kernels/parallel.h"

#include <sched.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace kernels {
namespace {

// A barrier is over in less than a microsecond, unless another program has the core.
constexpr int kSpinsBeforeYield = 2000;

int ReadNumber(const std::string& path, int otherwise) {
  std::ifstream file(path);
  int value = otherwise;
  return file >> value ? value : otherwise;
}

// The CPUs' time that the control group grants, in whole CPUs; 0: no limit.
int QuotaCores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  long period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::max(1, static_cast<int>(std::strtol(quota.c_str(), nullptr, 10) / period));
}

}  // namespace

int Worker::count() const { return team_->worker_count(); }

Range Worker::Share(int item_count) const {
  const auto part = [&](int index) {
    return static_cast<int>(static_cast<std::int64_t>(item_count) * index / count());
  };
  return {part(index_), part(index_ + 1)};
}

void Worker::Barrier() {
  const int others = count() - 1;
  if (others == 0) return;
  ++generation_;
  if (static_cast<int>(team_->arrived_.fetch_add(1, std::memory_order_acq_rel)) == others) {
    team_->arrived_.store(0, std::memory_order_relaxed);
    team_->generation_.store(generation_, std::memory_order_release);
    return;
  }
  int spins = 0;
  while (team_->generation_.load(std::memory_order_acquire) != generation_) {
    __builtin_ia32_pause();
    if (++spins > kSpinsBeforeYield) sched_yield();
  }
}

#ifdef _OPENMP

// Each of our regions says how many threads it takes. One is the default for libraries' regions: a
// worker calls oneDNN for itself alone.
Team::Team(int worker_count) : worker_count_(worker_count) {
  assert(worker_count >= 1);
  omp_set_num_threads(1);
}

void Team::RunErased(void (*step)(void*, Worker&), void* context) {
  omp_set_num_threads(1);  // this thread may be another one than the constructor's
  generation_.store(0, std::memory_order_relaxed);
  if (worker_count_ == 1) {
    Worker worker(this, 0);
    step(context, worker);
    return;
  }
#pragma omp parallel num_threads(worker_count_)
  {
    if (omp_get_num_threads() != worker_count_) {
      std::fputs("OpenMP gives fewer threads than asked for; unset OMP_THREAD_LIMIT\n", stderr);
      std::abort();
    }
    Worker worker(this, omp_get_thread_num());
    step(context, worker);
  }
}

#else

Team::Team(int worker_count) : worker_count_(1) { assert(worker_count >= 1); }

void Team::RunErased(void (*step)(void*, Worker&), void* context) {
  Worker worker(this, 0);
  step(context, worker);
}

#endif

int UsableCores() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 1;
  std::set<std::pair<int, int>> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &cpus)) continue;
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    cores.emplace(ReadNumber(folder + "physical_package_id", 0),
                  ReadNumber(folder + "core_id", cpu));
  }
  const int found = std::max(1, static_cast<int>(cores.size()));
  const int quota = QuotaCores();
  return quota == 0 ? found : std::min(found, quota);
}

}  // namespace kernels
