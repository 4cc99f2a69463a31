#include "service/home_checks.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace service {
namespace {

using integrations::Argument;
using integrations::Device;
using integrations::Example;
using integrations::Home;
using integrations::Place;
using integrations::Tool;

std::string At(const std::string& file, const Place& place) {
  return file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": ";
}

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool Fits(const Tool& tool, const Device& device) {
  return Contains(tool.classes, device.device_class) &&
         (tool.needs.empty() || Contains(device.can, tool.needs));
}

template <typename Thing>
const Thing* Named(const std::vector<Thing>& things, const std::string& name) {
  for (const Thing& thing : things) {
    if (thing.name == name) return &thing;
  }
  return nullptr;
}

// ASCII letters in lower case: enough to tell "Lamp" and "lamp" from two names.
std::string Folded(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// Names that may stand only once, whatever their case.
class UniqueNames {
 public:
  UniqueNames(std::string file, std::string what)
      : file_(std::move(file)), what_(std::move(what)) {}

  // Returns: an empty string, or where the name was first.
  std::string Add(const std::string& name, const Place& place) {
    const auto [first, fresh] = places_.emplace(Folded(name), place);
    if (fresh) return "";
    return At(file_, place) + "the " + what_ + " " + Quoted(name) + " is already in line " +
           std::to_string(first->second.line) + "; choose another name";
  }

 private:
  std::string file_;
  std::string what_;
  std::map<std::string, Place> places_;
};

std::string CheckTools(const Home& home) {
  UniqueNames names(home.tools.file, "tool");
  for (const Tool& tool : home.tools.tools) {
    std::string wrong = names.Add(tool.name, tool.place);
    if (!wrong.empty()) return wrong;
    const std::string tool_at = At(home.tools.file, tool.place) + "the tool " + Quoted(tool.name);
    if (tool.name.find_first_of(": ") != std::string::npos) {
      return tool_at + " has a colon or a blank in its name; use letters, digits and _";
    }
    const bool says_value = tool.say.find("{value}") != std::string::npos ||
                            tool.payload.find("{value}") != std::string::npos;
    if (says_value && !tool.argument) {
      return tool_at + " uses {value} but takes no argument; add one or remove {value}";
    }
    if (!tool.words.contains(home.policy.language)) {
      return tool_at + " has no words in " + Quoted(home.policy.language) + ", the language of " +
             home.policy.file + "; add them";
    }
    const bool used = std::ranges::any_of(home.house.devices,
                                          [&](const Device& device) { return Fits(tool, device); });
    if (!used) {
      return tool_at + " fits no device of " + home.house.file +
             "; check its classes and what it needs";
    }
  }
  return "";
}

std::string CheckAreas(const Home& home) {
  const std::string& file = home.house.file;
  UniqueNames floors(file, "floor");
  for (const auto& floor : home.house.floors) {
    std::string wrong = floors.Add(floor.text, floor.place);
    if (!wrong.empty()) return wrong;
  }
  UniqueNames names(file, "area");
  for (const auto& area : home.house.areas) {
    std::string wrong = names.Add(area.name, area.place);
    for (const std::string& alias : area.aliases) {
      if (wrong.empty()) wrong = names.Add(alias, area.place);
    }
    if (!wrong.empty()) return wrong;
    const bool known = area.floor.empty() ||
                       std::ranges::any_of(home.house.floors, [&](const integrations::Text& floor) {
                         return floor.text == area.floor;
                       });
    if (!known) {
      return At(file, area.place) + "the area " + Quoted(area.name) + " is on the floor " +
             Quoted(area.floor) + ", which is not listed under \"floors\"; add it there";
    }
  }
  return "";
}

std::string CheckDevice(const Home& home, const Device& device) {
  const std::string device_at =
      At(home.house.file, device.place) + "the device " + Quoted(device.name);
  if (device.name.find(": ") != std::string::npos) {
    return device_at + " has a colon followed by a blank in its name; choose another name";
  }
  if (!device.area.empty() && Named(home.house.areas, device.area) == nullptr) {
    return device_at + " is in the area " + Quoted(device.area) +
           ", which is not listed under \"areas\"; add it there";
  }
  const bool useful =
      std::ranges::any_of(home.tools.tools, [&](const Tool& tool) { return Fits(tool, device); });
  if (!useful) {
    return device_at + " has the class " + Quoted(device.device_class) +
           ", which no tool fits; add it to a tool's classes in " + home.tools.file;
  }
  std::vector<std::string> tools = device.confirm;
  tools.insert(tools.end(), device.deny.begin(), device.deny.end());
  for (const auto& [tool, payload] : device.payloads) tools.push_back(tool);
  for (const std::string& name : tools) {
    const Tool* tool = Named(home.tools.tools, name);
    if (tool == nullptr)
      return device_at + " names the tool " + Quoted(name) + ", which is not in " +
             home.tools.file + "; correct it";
    if (!Fits(*tool, device)) {
      return device_at + " names the tool " + Quoted(name) + ", which does not fit it; remove it";
    }
  }
  return "";
}

std::string CheckDevices(const Home& home) {
  UniqueNames names(home.house.file, "device name");
  for (const Device& device : home.house.devices) {
    std::string wrong = names.Add(device.name, device.place);
    for (const std::string& alias : device.aliases) {
      if (wrong.empty()) wrong = names.Add(alias, device.place);
    }
    if (wrong.empty()) wrong = CheckDevice(home, device);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string CheckValue(const Tool& tool, const std::string& value) {
  if (!tool.argument) return value.empty() ? "" : "takes no value; remove it";
  const Argument& argument = *tool.argument;
  if (argument.type == Argument::Type::kEnum) {
    if (Contains(argument.values, value)) return "";
    std::string known;
    for (const std::string& each : argument.values) known += (known.empty() ? "" : ", ") + each;
    return "takes one of " + known + ", found " + Quoted(value);
  }
  int number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, problem] = std::from_chars(value.data(), end, number);
  if (problem == std::errc{} && stop == end && std::to_string(number) == value &&
      number >= argument.min && number <= argument.max) {
    return "";
  }
  return "takes a whole number from " + std::to_string(argument.min) + " to " +
         std::to_string(argument.max) + ", found " + Quoted(value);
}

std::string CheckExamples(const Home& home) {
  UniqueNames utterances(home.policy.file, "example's \"user\"");
  for (const Example& example : home.policy.examples) {
    std::string wrong = utterances.Add(example.user, example.place);
    if (!wrong.empty()) return wrong;
    if (example.device.empty()) continue;
    const std::string example_at = At(home.policy.file, example.place) + "the example ";
    const Device* device = Named(home.house.devices, example.device);
    if (device == nullptr) {
      return example_at + "names the device " + Quoted(example.device) + ", which is not in " +
             home.house.file + "; correct it";
    }
    const Tool* tool = Named(home.tools.tools, example.tool);
    if (tool == nullptr) {
      return example_at + "names the tool " + Quoted(example.tool) + ", which is not in " +
             home.tools.file + "; correct it";
    }
    if (!Fits(*tool, *device)) {
      return example_at + "uses the tool " + Quoted(example.tool) + ", which does not fit " +
             Quoted(example.device) + "; correct it";
    }
    if (Contains(device->deny, tool->name) || tool->risk == integrations::Risk::kDeny) {
      return example_at + "shows a call that is denied; remove it";
    }
    wrong = CheckValue(*tool, example.value);
    if (!wrong.empty())
      return example_at + "uses the tool " + Quoted(example.tool) + ", which " + wrong;
  }
  return "";
}

}  // namespace

std::size_t CharacterCount(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string CheckHome(const Home& home) {
  std::string wrong = CheckAreas(home);
  if (wrong.empty()) wrong = CheckTools(home);
  if (wrong.empty()) wrong = CheckDevices(home);
  if (wrong.empty()) wrong = CheckExamples(home);
  return wrong;
}

}  // namespace service
