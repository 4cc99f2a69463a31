#include "integrations/home_assistant/policy.h"

#include <algorithm>
#include <string>
#include <vector>

namespace integrations::home_assistant {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

ActionStatus Decide(const Tool& tool, const Device& device) {
  if (tool.risk == Risk::kDeny || Contains(device.deny, tool.name)) return ActionStatus::kDenied;
  if (tool.risk == Risk::kConfirm || Contains(device.confirm, tool.name)) {
    return ActionStatus::kConfirm;
  }
  return ActionStatus::kAllowed;
}

}  // namespace integrations::home_assistant
