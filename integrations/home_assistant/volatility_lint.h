// Refuses text in the prefix that looks as if it changed by itself.
//
// A clock, a date, a UUID or a counter in the prefix makes every command a full prefill. What looks
// like one is refused, wherever in the documents it reaches the prefix.
#pragma once

#include <string>
#include <string_view>

#include "integrations/home.h"

namespace integrations::home_assistant {

// What `text` seems to hold, e.g. "a clock (\"7:30\")"; empty: nothing that changes by itself.
std::string FindVolatile(std::string_view text);

// Returns: an empty string, or a sentence with file and line.
std::string LintHome(const Home& home);

}  // namespace integrations::home_assistant
