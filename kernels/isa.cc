#include "kernels/isa.h"

#include <cpuid.h>

#include <array>
#include <cassert>
#include <cstdlib>

namespace kernels {
namespace {

struct Isa {
  const LeafTable* leaves;
  bool (*present)();
};

bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

// Every CPU with AVX2 has F16C.
bool HasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

// Leaf 7.1 has the bit; not every compiler's __builtin_cpu_supports knows it.
bool HasAvxVnni() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return HasAvx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 0x10U) != 0;
}

constexpr std::array<Isa, 4> kIsas{{
    {&kAvx512Leaves, HasAvx512},
    {&kAvxVnniLeaves, HasAvxVnni},
    {&kAvx2Leaves, HasAvx2},
    {&kScalarLeaves, [] { return true; }},
}};

std::string Joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

const std::expected<std::string_view, std::string>& Selected() {
  static const std::expected<std::string_view, std::string> selected = [] {
    const char* forced = std::getenv("INGLENOOK_ISA");
    return ChooseIsa(forced == nullptr ? "" : forced);
  }();
  return selected;
}

}  // namespace

std::vector<std::string_view> IsasOfThisCpu() {
  std::vector<std::string_view> names;
  for (const Isa& isa : kIsas) {
    if (isa.present()) names.emplace_back(isa.leaves->name);
  }
  return names;
}

const LeafTable* LeavesFor(std::string_view isa) {
  for (const Isa& known : kIsas) {
    if (known.leaves->name == isa) return known.present() ? known.leaves : nullptr;
  }
  return nullptr;
}

std::expected<std::string_view, std::string> ChooseIsa(std::string_view forced) {
  const std::vector<std::string_view> present = IsasOfThisCpu();
  if (forced.empty()) return present.front();
  if (const LeafTable* leaves = LeavesFor(forced)) return leaves->name;
  return std::unexpected("INGLENOOK_ISA is '" + std::string(forced) +
                         "', but this CPU can run only " + Joined(present) +
                         "; name one of these, or unset it for the best");
}

std::expected<std::string_view, std::string> SelectIsa() { return Selected(); }

const LeafTable& Leaves() {
  static const LeafTable* const leaves = [] {
    assert(Selected().has_value());
    return LeavesFor(*Selected());
  }();
  return *leaves;
}

}  // namespace kernels
