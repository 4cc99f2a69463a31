// A home behind integration.h: joins the prefix, the catalog of calls, what words point to and the
// policy.
//
// Thread: any; never changes once made. Ownership: keeps its own copy of the home.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "integrations/home.h"
#include "integrations/integration.h"

namespace integrations::home_assistant {

// Returns: a sentence with file and line when the prefix would hold text that changes by itself, or
// when the home offers no call.
[[nodiscard]] std::expected<std::unique_ptr<Integration>, std::string> Create(Home home);

}  // namespace integrations::home_assistant
