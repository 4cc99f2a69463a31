// The prefix: policy, tools and house as text, and the worked examples as turns.
//
// A pure function of the documents' content: tools, devices, areas, aliases and classes are sorted
// by their bytes; places, file names, the order of keys and comments leave no trace. No locale, no
// clock, no environment.
#pragma once

#include <string>

#include "integrations/home.h"
#include "integrations/integration.h"

namespace integrations::home_assistant {

// The home with everything sorted whose order means nothing.
Home Sorted(Home home);

// Requires: a sorted home.
Prefix RenderPrefix(const Home& home);

// How the answers look that the examples show and the catalog lists.
inline constexpr const char* kWordsLead = "say: ";
inline constexpr const char* kAskText = "ask";
// "kitchen ceiling light: turn_on"; with a value: "desk lamp: set_brightness 40".
std::string CallText(const std::string& device, const std::string& tool, const std::string& value);

}  // namespace integrations::home_assistant
