// Memory placed on NUMA nodes: allocated whole at start, touched, never grown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace kernels {

// Which CPUs belong to which node. A plain value, so that tests can invent one.
struct NumaTopology {
  struct Node {
    int id = 0;
    std::vector<int> cpus;
  };
  std::vector<Node> nodes;  // at least one

  // The machine's, from sysfs; one node with all CPUs where there is none.
  static NumaTopology OfThisMachine();
};

// A move-only run of bytes, 2 MiB aligned, huge pages advised, zeroed.
class NumaMemory {
 public:
  NumaMemory() = default;
  // Returns: a sentence that names the size when the system refuses. node < 0: no preference.
  [[nodiscard]] static std::expected<NumaMemory, std::string> Allocate(std::size_t bytes, int node);
  NumaMemory(NumaMemory&& other) noexcept;
  NumaMemory& operator=(NumaMemory&& other) noexcept;
  ~NumaMemory();

  std::byte* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }
  // Writes every page once, so that no page fault comes later.
  void Touch();

 private:
  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kernels
