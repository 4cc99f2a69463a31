#include "integrations/home_assistant/action.h"

#include <algorithm>
#include <cassert>

#include "integrations/home_assistant/policy.h"

namespace integrations::home_assistant {
namespace {

// "set_brightness" → "set brightness": what the tool is called in a sentence.
std::string Spoken(const std::string& tool) {
  std::string spoken = tool;
  std::ranges::replace(spoken, '_', ' ');
  return spoken;
}

}  // namespace

std::string Filled(std::string_view text, std::string_view key, std::string_view value) {
  const std::string hole = "{" + std::string(key) + "}";
  std::string filled;
  for (std::size_t at = text.find(hole); at != std::string_view::npos; at = text.find(hole)) {
    filled += text.substr(0, at);
    filled += value;
    text.remove_prefix(at + hole.size());
  }
  filled += text;
  return filled;
}

Action ActionOf(const Home& home, const Call& call) {
  assert(call.device < home.house.devices.size());
  assert(call.tool < home.tools.tools.size());
  const Device& device = home.house.devices[call.device];
  const Tool& tool = home.tools.tools[call.tool];
  Action action;
  action.tool = tool.name;
  action.device = device.name;
  if (tool.argument) action.arguments[tool.argument->name] = call.value;
  action.status = Decide(tool, device);
  if (device.command_topic.empty()) return action;
  const auto own = device.payloads.find(tool.name);
  const std::string& payload = own == device.payloads.end() ? tool.payload : own->second;
  action.message = {device.command_topic, Filled(payload, "value", call.value), false};
  return action;
}

std::string SentenceOf(const Home& home, const Call& call, ActionStatus status) {
  const Device& device = home.house.devices[call.device];
  const Tool& tool = home.tools.tools[call.tool];
  // Names last: a name may hold braces, a template not a name.
  switch (status) {
    case ActionStatus::kAllowed:
      return Filled(Filled(tool.say, "value", call.value), "name", device.name);
    case ActionStatus::kConfirm:
      return Filled(Filled(home.policy.confirm.text, "call", Spoken(tool.name)), "name",
                    device.name);
    case ActionStatus::kDenied:
      return Filled(home.policy.denied.text, "name", device.name);
  }
  return home.policy.unclear.text;
}

std::string FailureSentenceOf(const Home& home, const Action& action) {
  const Text& text =
      action.status == ActionStatus::kDenied ? home.policy.denied : home.policy.failed;
  return Filled(text.text, "name", action.device);
}

}  // namespace integrations::home_assistant
