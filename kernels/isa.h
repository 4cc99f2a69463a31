// Which instruction set the kernels use: chosen once per process.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/leaf_table.h"

namespace kernels {

// The set in force: the best one of this CPU, or the one that INGLENOOK_ISA names.
// Returns: a sentence when INGLENOOK_ISA is unknown or more than this CPU has.
[[nodiscard]] std::expected<std::string_view, std::string> SelectIsa();

// What SelectIsa does with the value of INGLENOOK_ISA; empty: the best set of this CPU.
[[nodiscard]] std::expected<std::string_view, std::string> ChooseIsa(std::string_view forced);

// The sets that this CPU has, best first; "scalar" is always the last.
std::vector<std::string_view> IsasOfThisCpu();

// Null for a set that this CPU lacks or nobody knows.
const LeafTable* LeavesFor(std::string_view isa);

// The kernels in force. Requires: SelectIsa() has a value (asserted).
const LeafTable& Leaves();

}  // namespace kernels
