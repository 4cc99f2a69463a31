// `inglenook bench`: how long it takes to the first token, cold, warm and with reuse off, measured
// in one run on the configured model and home.
//
//   cold       nothing is in memory: the prefix and the command are computed
//   warm       the prefix is in memory: only the command is computed
//   reuse off  as warm, but the command may use nothing of it (same code path)
//
// The answers of all three are compared: they have to be equal.
#pragma once

#include <expected>
#include <ostream>
#include <string>
#include <vector>

#include "integrations/integration.h"
#include "service/config.h"

namespace service {

struct BenchOptions {
  int repeats = 5;
  bool prints_json = false;
  std::vector<std::string> utterances;  // empty: some of the policy's examples
};

[[nodiscard]] std::expected<void, std::string> Bench(const Config& config,
                                                     const integrations::Integration& integration,
                                                     const BenchOptions& options,
                                                     std::ostream& out);

}  // namespace service
