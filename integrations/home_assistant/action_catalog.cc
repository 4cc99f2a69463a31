#include "integrations/home_assistant/action_catalog.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "integrations/home_assistant/prefix.h"

namespace integrations::home_assistant {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Decimal without leading zeros or a plus, as the answer language has it.
std::optional<int> NumberOf(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc{} || stop != end) return std::nullopt;
  if (std::to_string(number) != text) return std::nullopt;
  return number;
}

}  // namespace

bool Fits(const Tool& tool, const Device& device) {
  return Contains(tool.classes, device.device_class) &&
         (tool.needs.empty() || Contains(device.can, tool.needs));
}

ActionCatalog::ActionCatalog(const Home& home) : home_(&home) {
  const auto& devices = home.house.devices;
  for (std::uint32_t device = 0; device < devices.size(); ++device) {
    const auto first = static_cast<std::uint32_t>(entries_.size());
    for (std::uint32_t tool = 0; tool < home.tools.tools.size(); ++tool) AddCalls(device, tool);
    ranges_.push_back({first, static_cast<std::uint32_t>(entries_.size())});
  }
  language_.words_lead = kWordsLead;
  language_.ask_text = kAskText;
}

void ActionCatalog::AddCalls(std::uint32_t device, std::uint32_t tool) {
  const Tool& the_tool = home_->tools.tools[tool];
  const Device& the_device = home_->house.devices[device];
  if (!Fits(the_tool, the_device)) return;
  const auto add = [&](const std::string& value, bool has_value, int min, int max) {
    entries_.push_back({device, tool, value});
    language_.heads.push_back(
        {CallText(the_device.name, the_tool.name, value), has_value, min, max});
  };
  if (!the_tool.argument) {
    add("", false, 0, 0);
  } else if (the_tool.argument->type == Argument::Type::kNumber) {
    add("", true, the_tool.argument->min, the_tool.argument->max);
  } else {
    for (const std::string& value : the_tool.argument->values) add(value, false, 0, 0);
  }
}

std::optional<Call> ActionCatalog::CallFrom(int index, std::string_view text) const {
  if (index < 0 || static_cast<std::size_t>(index) >= entries_.size()) return std::nullopt;
  const CatalogEntry& entry = entries_[static_cast<std::size_t>(index)];
  const CallHead& head = language_.heads[static_cast<std::size_t>(index)];
  Call call{entry.device, entry.tool, entry.value};
  if (!head.has_value) {
    if (text != head.text) return std::nullopt;
    return call;
  }
  if (!text.starts_with(head.text)) return std::nullopt;
  text.remove_prefix(head.text.size());
  if (!text.starts_with(' ')) return std::nullopt;
  text.remove_prefix(1);
  const std::optional<int> number = NumberOf(text);
  if (!number || *number < head.value_min || *number > head.value_max) return std::nullopt;
  call.value = std::string(text);
  return call;
}

}  // namespace integrations::home_assistant
