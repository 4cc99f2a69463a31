// Bytes drive operations on the KV cache and on a naive model of it; they must agree.
//
// The first byte chooses the number of blocks, the second that of hash bits.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "tests/support/kv_cache_model.h"

namespace {

void Expect(const std::string& differs) {
  if (differs.empty()) return;
  std::fprintf(stderr, "%s\n", differs.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  std::span<const std::uint8_t> left(bytes, size);
  cache_model::KvCacheDriver driver(1 + left[0] % 32, 1 + left[1] % 64);
  left = left.subspan(2);
  while (!left.empty()) Expect(driver.Step(left));
  Expect(driver.Drain());
  const cache::Stats stats = driver.stats();
  if (stats.hits > stats.lookups || stats.blocks_shared != 0) std::abort();
  return 0;
}
