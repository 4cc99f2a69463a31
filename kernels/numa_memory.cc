#include "kernels/numa_memory.h"

#include <numa.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kernels {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kPage = 4096;

}  // namespace

NumaTopology NumaTopology::OfThisMachine() {
  NumaTopology topology;
  if (numa_available() < 0) {
    Node node;
    for (int cpu = 0; cpu < numa_num_configured_cpus(); ++cpu) node.cpus.push_back(cpu);
    topology.nodes.push_back(std::move(node));
    return topology;
  }
  bitmask* cpus = numa_allocate_cpumask();
  for (int id = 0; id <= numa_max_node(); ++id) {
    if (numa_node_to_cpus(id, cpus) != 0) continue;
    Node node{id, {}};
    for (unsigned cpu = 0; cpu < cpus->size; ++cpu) {
      if (numa_bitmask_isbitset(cpus, cpu)) node.cpus.push_back(static_cast<int>(cpu));
    }
    if (!node.cpus.empty()) topology.nodes.push_back(std::move(node));
  }
  numa_free_cpumask(cpus);
  if (topology.nodes.empty()) topology.nodes.emplace_back();
  return topology;
}

std::expected<NumaMemory, std::string> NumaMemory::Allocate(std::size_t bytes, int node) {
  NumaMemory memory;
  if (bytes == 0) return memory;
  const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  // One huge page more, so that the start can be moved to a border; the rest is given back.
  void* mapped =
      mmap(nullptr, whole + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return std::unexpected("the system refuses " + std::to_string(whole >> 20) + " MiB (" +
                           std::strerror(errno) + ")");
  }
  auto* start = static_cast<std::byte*>(mapped);
  const std::size_t skipped =
      (kHugePage - reinterpret_cast<std::uintptr_t>(start) % kHugePage) % kHugePage;
  if (skipped > 0) munmap(start, skipped);
  munmap(start + skipped + whole, kHugePage - skipped);
  memory.bytes_ = start + skipped;
  memory.size_ = whole;
  madvise(memory.bytes_, whole, MADV_HUGEPAGE);  // advice: failing costs speed only
  if (node >= 0 && numa_available() >= 0) numa_tonode_memory(memory.bytes_, whole, node);
  return memory;
}

NumaMemory::NumaMemory(NumaMemory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}

NumaMemory& NumaMemory::operator=(NumaMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  return *this;
}

NumaMemory::~NumaMemory() {
  if (bytes_ != nullptr) munmap(bytes_, size_);
}

void NumaMemory::Touch() {
  for (std::size_t at = 0; at < size_; at += kPage) {
    volatile std::byte* byte = bytes_ + at;
    *byte = std::byte{0};
  }
}

}  // namespace kernels
