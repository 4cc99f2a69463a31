// What may be done: allowed at once, after a yes, or never.
//
// A tool has a risk; a device may raise it for one tool (`confirm`, `deny`), never lower it.
#pragma once

#include "integrations/home.h"
#include "integrations/integration.h"

namespace integrations::home_assistant {

ActionStatus Decide(const Tool& tool, const Device& device);

}  // namespace integrations::home_assistant
