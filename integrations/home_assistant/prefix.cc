#include "integrations/home_assistant/prefix.h"

#include <algorithm>
#include <map>
#include <vector>

namespace integrations::home_assistant {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) {
    if (!joined.empty()) joined += ", ";
    joined += word;
  }
  return joined;
}

std::string PolicyText(const Policy& policy) {
  std::string text = policy.persona.text + "\n";
  for (const Text& rule : policy.rules) text += "- " + rule.text + "\n";
  return text;
}

std::string ArgumentText(const Argument& argument) {
  if (argument.type == Argument::Type::kEnum) return " " + Joined(argument.values);
  return " " + std::to_string(argument.min) + " to " + std::to_string(argument.max);
}

std::string ToolsText(const Tools& tools) {
  std::string text = "Tools:\n";
  for (const Tool& tool : tools.tools) {
    text += tool.name;
    if (tool.argument) text += ArgumentText(*tool.argument);
    text += ": " + tool.does + " (" + Joined(tool.classes) + ")\n";
  }
  return text;
}

// "lights a, b; covers c" of one area, classes in the order of their bytes.
std::string DevicesText(const House& house, const std::string& area) {
  std::map<std::string, std::vector<std::string>> names;
  for (const Device& device : house.devices) {
    if (device.area == area) names[device.device_class].push_back(device.name);
  }
  std::string text;
  for (const auto& [device_class, devices] : names) {
    text += (text.empty() ? "" : "; ") + device_class + " " + Joined(devices);
  }
  return text;
}

std::string HouseText(const House& house) {
  std::string text = "Devices of " + house.name + ":\n";
  for (const Area& area : house.areas) {
    const std::string devices = DevicesText(house, area.name);
    if (devices.empty()) continue;
    text += area.name + (area.floor.empty() ? "" : " (" + area.floor + ")") + ": " + devices + "\n";
  }
  const std::string anywhere = DevicesText(house, "");
  if (!anywhere.empty()) text += "anywhere: " + anywhere + "\n";
  for (const Text& note : house.notes) text += "Note: " + note.text + "\n";
  return text;
}

std::string AnswerText(const Example& example) {
  if (example.ask) return kAskText;
  if (!example.say.empty()) return kWordsLead + example.say;
  return CallText(example.device, example.tool, example.value);
}

template <typename Thing>
void SortByName(std::vector<Thing>& things) {
  std::ranges::sort(things, [](const Thing& a, const Thing& b) { return a.name < b.name; });
}

}  // namespace

std::string CallText(const std::string& device, const std::string& tool, const std::string& value) {
  return device + ": " + tool + (value.empty() ? "" : " " + value);
}

Home Sorted(Home home) {
  SortByName(home.tools.tools);
  for (Tool& tool : home.tools.tools) {
    std::ranges::sort(tool.classes);
    if (tool.argument) std::ranges::sort(tool.argument->values);
    for (auto& [language, words] : tool.words) std::ranges::sort(words);
  }
  SortByName(home.house.areas);
  for (Area& area : home.house.areas) std::ranges::sort(area.aliases);
  SortByName(home.house.devices);
  for (Device& device : home.house.devices) {
    std::ranges::sort(device.aliases);
    std::ranges::sort(device.can);
  }
  return home;
}

Prefix RenderPrefix(const Home& home) {
  Prefix prefix;
  prefix.sections = {{"policy", PolicyText(home.policy)},
                     {"tools", ToolsText(home.tools)},
                     {"house", HouseText(home.house)}};
  for (const Example& example : home.policy.examples) {
    prefix.examples.push_back({example.user, AnswerText(example)});
  }
  prefix.versions = std::to_string(home.policy.version) + "." + std::to_string(home.tools.version) +
                    "." + std::to_string(home.house.version);
  return prefix;
}

}  // namespace integrations::home_assistant
