#include "kernels/isa.h"

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

constexpr std::array<Isa, 3> kIsas{{
    {&kAvx512Leaves, HasAvx512},
    {&kAvx2Leaves, HasAvx2},
    {&kScalarLeaves, [] { return true; }},
}};

struct Selection {
  const LeafTable* leaves = nullptr;
  std::string error;
};

std::string Joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

Selection Select() {
  const std::vector<std::string_view> present = IsasOfThisCpu();
  const char* forced = std::getenv("INGLENOOK_ISA");
  if (forced == nullptr || *forced == '\0') return {LeavesFor(present.front()), ""};
  if (const LeafTable* leaves = LeavesFor(forced)) return {leaves, ""};
  return {nullptr, "INGLENOOK_ISA is '" + std::string(forced) + "', but this CPU can run only " +
                       Joined(present) + "; name one of these, or unset it to have the best chosen"};
}

const Selection& Selected() {
  static const Selection selection = Select();
  return selection;
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

std::expected<std::string_view, std::string> SelectIsa() {
  if (Selected().leaves == nullptr) return std::unexpected(Selected().error);
  return Selected().leaves->name;
}

const LeafTable& Leaves() {
  assert(Selected().leaves != nullptr);
  return *Selected().leaves;
}

}  // namespace kernels
