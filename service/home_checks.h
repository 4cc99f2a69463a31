// What must hold between the parts of a home: names are unique, and what is named exists.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "integrations/home.h"

namespace service {

// Returns: an empty string, or a sentence with file:line:column.
std::string CheckHome(const integrations::Home& home);

// Characters (code points) of valid UTF-8.
std::size_t CharacterCount(std::string_view text);

}  // namespace service
