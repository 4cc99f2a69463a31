// One line about the machine, to stand beside every figure: what it can do right now.
//
//   CPU name | cores | memory read GB/s with all cores | float fma GFLOP/s with all cores
//
// Shared machines drift by more than half; only figures with like probes are comparable.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "kernels/isa.h"
#include "kernels/parallel.h"

namespace {

constexpr std::size_t kBytesPerThread = std::size_t{256} << 20;
constexpr int kRepeats = 3;
constexpr long kFmaTurns = 4'000'000;

using Clock = std::chrono::steady_clock;

// Seconds that the slowest of `count` threads takes, all started together; the best of a few runs.
template <class Work>
double Seconds(int count, Work work) {
  double best = 1e9;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    std::vector<double> seconds(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        ++ready;
        while (ready < count) std::this_thread::yield();
        const auto start = Clock::now();
        work(i);
        seconds[static_cast<std::size_t>(i)] =
            std::chrono::duration<double>(Clock::now() - start).count();
      });
    }
    for (std::thread& thread : threads) thread.join();
    best = std::min(best, *std::max_element(seconds.begin(), seconds.end()));
  }
  return best;
}

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

// Independent fmas on 8 registers of 16 or 8 lanes.
[[gnu::target("avx512f")]] void FmaWide() {
  long turns = kFmaTurns;
  asm volatile(
      "1:\n"
      "vfmadd231ps %%zmm8, %%zmm9, %%zmm0\n vfmadd231ps %%zmm8, %%zmm9, %%zmm1\n"
      "vfmadd231ps %%zmm8, %%zmm9, %%zmm2\n vfmadd231ps %%zmm8, %%zmm9, %%zmm3\n"
      "vfmadd231ps %%zmm8, %%zmm9, %%zmm4\n vfmadd231ps %%zmm8, %%zmm9, %%zmm5\n"
      "vfmadd231ps %%zmm8, %%zmm9, %%zmm6\n vfmadd231ps %%zmm8, %%zmm9, %%zmm7\n"
      "dec %0\n jnz 1b"
      : "+r"(turns)
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "cc");
}
[[gnu::target("fma")]] void FmaNarrow() {
  long turns = kFmaTurns;
  asm volatile(
      "1:\n"
      "vfmadd231ps %%ymm8, %%ymm9, %%ymm0\n vfmadd231ps %%ymm8, %%ymm9, %%ymm1\n"
      "vfmadd231ps %%ymm8, %%ymm9, %%ymm2\n vfmadd231ps %%ymm8, %%ymm9, %%ymm3\n"
      "vfmadd231ps %%ymm8, %%ymm9, %%ymm4\n vfmadd231ps %%ymm8, %%ymm9, %%ymm5\n"
      "vfmadd231ps %%ymm8, %%ymm9, %%ymm6\n vfmadd231ps %%ymm8, %%ymm9, %%ymm7\n"
      "dec %0\n jnz 1b"
      : "+r"(turns)
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "cc");
}

}  // namespace

int main() {
  const int cores = kernels::UsableCores();
  const std::string isa(kernels::IsasOfThisCpu().front());
  std::vector<std::vector<unsigned long>> memory(
      static_cast<std::size_t>(cores),
      std::vector<unsigned long>(kBytesPerThread / sizeof(unsigned long), 1));
  std::atomic<unsigned long> sink{0};
  const double read = Seconds(cores, [&](int i) {
    unsigned long sum = 0;
    for (const unsigned long value : memory[static_cast<std::size_t>(i)]) sum += value;
    sink += sum;
  });
  const bool wide = isa == "avx512";
  const double fma =
      isa == "scalar" ? 0 : Seconds(cores, [&](int) { wide ? FmaWide() : FmaNarrow(); });
  const double flops = fma > 0 ? cores * 8.0 * 2 * (wide ? 16 : 8) * kFmaTurns / fma / 1e9 : 0;
  std::printf(
      "machine: %s | best instruction set %s | %d cores | memory read %.1f GB/s | "
      "float fma %.0f GFLOP/s\n",
      CpuName().c_str(), isa.c_str(), cores,
      static_cast<double>(kBytesPerThread) * cores / read / 1e9, flops);
  return 0;
}
