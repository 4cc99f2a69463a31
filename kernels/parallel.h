// A team of workers that carries one forward step.
//
// One OpenMP parallel region is one step: every worker runs the same function from top to bottom
// (single program, multiple workers), takes its share of each loop and meets the others at spin
// barriers inside the region. Between steps the workers are parked, so an idle service uses no
// CPU. Which worker computes what never changes a bit of any result.
//
// Without OpenMP (sanitizer builds) a team has one worker and Run is a plain call.
#pragma once

#include <atomic>
#include <cstdint>

namespace kernels {

// The items [begin, end) of a loop.
struct Range {
  int begin = 0;
  int end = 0;
};

class Team;

// One member of a running team. Lives on its own thread for the length of one step.
class Worker {
 public:
  Worker(Team* team, int index) : team_(team), index_(index) {}
  int index() const { return index_; }
  int count() const;
  // The contiguous part of `item_count` items that is this worker's.
  Range Share(int item_count) const;
  // Returns when every worker of the team has called it; what was written before is visible after.
  void Barrier();

 private:
  Team* team_;
  int index_;
  std::uint32_t generation_ = 0;
};

// Owns nothing but the number of workers and the barrier. Used by the engine thread only.
class Team {
 public:
  // Requires: worker_count >= 1.
  explicit Team(int worker_count);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int worker_count() const { return worker_count_; }

  // Runs step(Worker&) once on every worker and returns when all are done.
  template <typename Step>
  void Run(Step&& step) {
    RunErased([](void* context, Worker& worker) { (*static_cast<Step*>(context))(worker); },
              static_cast<void*>(&step));
  }

 private:
  friend class Worker;
  void RunErased(void (*step)(void*, Worker&), void* context);

  int worker_count_;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
};

// The number of physical cores that this process may use (affinity mask and cgroup quota).
int UsableCores();

}  // namespace kernels
