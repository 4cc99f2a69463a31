// A call → what to do, what to publish and what to say.
#pragma once

#include <string>
#include <string_view>

#include "integrations/home.h"
#include "integrations/home_assistant/action_catalog.h"
#include "integrations/integration.h"

namespace integrations::home_assistant {

// The action of a call and the policy's decision on it. `message` is filled where the device has a
// command topic.
Action ActionOf(const Home& home, const Call& call);

// The sentence for it: what was done, the question for a yes, or why not.
std::string SentenceOf(const Home& home, const Call& call, ActionStatus status);
// The sentence for an action that could not be done, or is denied.
std::string FailureSentenceOf(const Home& home, const Action& action);

// `text` with every "{key}" replaced; what was put in is not searched again.
std::string Filled(std::string_view text, std::string_view key, std::string_view value);

}  // namespace integrations::home_assistant
