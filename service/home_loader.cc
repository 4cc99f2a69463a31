#include "service/home_loader.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text_automaton.h"
#include "service/home_checks.h"
#include "service/yaml_loader.h"

namespace service {
namespace {

using integrations::Area;
using integrations::Argument;
using integrations::Device;
using integrations::Example;
using integrations::Home;
using integrations::House;
using integrations::Place;
using integrations::Policy;
using integrations::Risk;
using integrations::Text;
using integrations::Tool;
using integrations::Tools;

constexpr std::int64_t kVersionMax = 1'000'000'000;
constexpr std::int64_t kValueMax = 1'000'000;
constexpr std::size_t kLineCharactersMax = 400;

Place PlaceOf(const YamlNode& node) { return {node.line, node.column}; }

// One printable line of at most `characters_max` characters, without blanks at its ends.
std::string Line(YamlReader& reader, const YamlNode& node, std::string_view what,
                 std::size_t characters_max) {
  const std::string subject = std::string(what) + " \"" + node.text + "\"";
  if (node.text.empty()) {
    reader.Fail(node, std::string(what) + " is empty; write something or remove it");
  } else if (!engine::IsPrintableLine(node.text)) {
    reader.Fail(node, std::string(what) + " must be one line of printable characters");
  } else if (node.text.front() == ' ' || node.text.back() == ' ') {
    reader.Fail(node, subject + " begins or ends with a blank; remove it");
  } else if (const std::size_t count = CharacterCount(node.text); count > characters_max) {
    reader.Fail(node, subject + " has " + std::to_string(count) + " characters, the limit is " +
                          std::to_string(characters_max) + "; shorten it");
  }
  return node.text;
}

std::string LineAt(YamlReader& reader, const YamlNode& map, std::string_view key,
                   std::size_t characters_max) {
  if (reader.Text(map, key).empty()) return "";
  return Line(reader, *reader.Find(map, key, true), key, characters_max);
}

std::string LineOr(YamlReader& reader, const YamlNode& map, std::string_view key,
                   std::size_t characters_max) {
  if (reader.Find(map, key, false) == nullptr) return "";
  return LineAt(reader, map, key, characters_max);
}

std::string NameAt(YamlReader& reader, const YamlNode& map, std::string_view key) {
  return LineAt(reader, map, key, integrations::kNameCharactersMax);
}

Text TextAt(YamlReader& reader, const YamlNode& map, std::string_view key) {
  Text text{LineAt(reader, map, key, kLineCharactersMax), {}};
  if (const YamlNode* node = reader.Find(map, key, false)) text.place = PlaceOf(*node);
  return text;
}

std::vector<Text> TextsAt(YamlReader& reader, const YamlNode& map, std::string_view key,
                          std::size_t characters_max) {
  std::vector<Text> texts;
  for (const YamlNode* node : reader.TextsOr(map, key)) {
    texts.push_back({Line(reader, *node, "an item of \"" + std::string(key) + "\"", characters_max),
                     PlaceOf(*node)});
  }
  return texts;
}

std::vector<std::string> NamesAt(YamlReader& reader, const YamlNode& map, std::string_view key) {
  std::vector<std::string> names;
  for (Text& text : TextsAt(reader, map, key, integrations::kNameCharactersMax)) {
    if (std::ranges::find(names, text.text) != names.end()) {
      reader.Fail(text.place.line, text.place.column,
                  "\"" + text.text + "\" stands twice in \"" + std::string(key) + "\"; remove one");
    }
    names.push_back(std::move(text.text));
  }
  return names;
}

bool WithinLimit(YamlReader& reader, const YamlNode& root, std::size_t count, std::size_t max,
                 std::string_view what) {
  if (count <= max) return true;
  reader.Fail(root, std::to_string(count) + " " + std::string(what) + ", the limit is " +
                        std::to_string(max) + "; remove some");
  return false;
}

Example ExampleOf(YamlReader& reader, const YamlNode& node) {
  Example example;
  example.place = PlaceOf(node);
  if (!reader.IsMap(node, "an example", {"user", "device", "tool", "value", "say", "ask"})) {
    return example;
  }
  example.user = LineAt(reader, node, "user", kLineCharactersMax);
  example.device = LineOr(reader, node, "device", integrations::kNameCharactersMax);
  example.tool = LineOr(reader, node, "tool", integrations::kNameCharactersMax);
  example.value = LineOr(reader, node, "value", integrations::kNameCharactersMax);
  example.say = LineOr(reader, node, "say", kLineCharactersMax);
  example.ask = reader.FlagOr(node, "ask", false);
  const bool call = !example.device.empty() && !example.tool.empty();
  const bool no_call = example.device.empty() && example.tool.empty() && example.value.empty();
  const int kinds = (call ? 1 : 0) + (example.say.empty() ? 0 : 1) + (example.ask ? 1 : 0);
  if (kinds != 1 || (!call && !no_call)) {
    reader.Fail(node,
                "an example has either \"device\" and \"tool\" (and perhaps \"value\"), or "
                "\"say\", or \"ask: true\"");
  }
  return example;
}

Policy PolicyOf(YamlReader& reader, const YamlNode& root) {
  Policy policy;
  policy.file = reader.file();
  if (!reader.IsMap(root, "the policy",
                    {"version", "language", "persona", "rules", "ask", "unclear", "confirm",
                     "denied", "failed", "examples"})) {
    return policy;
  }
  policy.version = static_cast<int>(reader.Integer(root, "version", 1, kVersionMax));
  policy.language = NameAt(reader, root, "language");
  policy.persona = TextAt(reader, root, "persona");
  policy.rules = TextsAt(reader, root, "rules", kLineCharactersMax);
  policy.ask = TextAt(reader, root, "ask");
  policy.unclear = TextAt(reader, root, "unclear");
  policy.confirm = TextAt(reader, root, "confirm");
  policy.denied = TextAt(reader, root, "denied");
  policy.failed = TextAt(reader, root, "failed");
  const auto nodes = reader.ListOr(root, "examples");
  if (!WithinLimit(reader, root, nodes.size(), kExamplesMax, "examples")) return policy;
  for (const YamlNode* node : nodes) policy.examples.push_back(ExampleOf(reader, *node));
  return policy;
}

Risk RiskAt(YamlReader& reader, const YamlNode& map) {
  const std::string text = NameAt(reader, map, "risk");
  if (text == "allow") return Risk::kAllow;
  if (text == "confirm") return Risk::kConfirm;
  if (text != "deny" && !text.empty()) {
    reader.Fail(*reader.Find(map, "risk", true),
                "\"risk\" must be allow, confirm or deny, found \"" + text + "\"");
  }
  return Risk::kDeny;
}

Argument ArgumentOf(YamlReader& reader, const YamlNode& node) {
  Argument argument;
  if (!reader.IsMap(node, "an argument", {"name", "type", "min", "max", "values"})) return argument;
  argument.name = NameAt(reader, node, "name");
  const std::string type = NameAt(reader, node, "type");
  if (type == "number") {
    argument.min = static_cast<int>(reader.Integer(node, "min", -kValueMax, kValueMax));
    argument.max = static_cast<int>(reader.Integer(node, "max", argument.min, kValueMax));
    if (const YamlNode* values = reader.Find(node, "values", false)) {
      reader.Fail(*values, "\"values\" belongs to an argument of type enum; remove it");
    }
  } else if (type == "enum") {
    argument.type = Argument::Type::kEnum;
    argument.values = NamesAt(reader, node, "values");
    if (argument.values.empty()) {
      reader.Fail(node, "an argument of type enum needs \"values\"; list them");
    }
  } else if (!type.empty()) {
    reader.Fail(*reader.Find(node, "type", true),
                "\"type\" must be number or enum, found \"" + type + "\"");
  }
  return argument;
}

Tool ToolOf(YamlReader& reader, const YamlNode& node) {
  Tool tool;
  tool.place = PlaceOf(node);
  if (!reader.IsMap(
          node, "a tool",
          {"name", "does", "classes", "needs", "argument", "risk", "words", "say", "payload"})) {
    return tool;
  }
  tool.name = NameAt(reader, node, "name");
  tool.does = LineAt(reader, node, "does", kLineCharactersMax);
  tool.classes = NamesAt(reader, node, "classes");
  if (tool.classes.empty()) {
    reader.Fail(node, "a tool needs \"classes\": the device classes it fits");
  }
  tool.needs = LineOr(reader, node, "needs", integrations::kNameCharactersMax);
  if (const YamlNode* argument = reader.Find(node, "argument", false)) {
    tool.argument = ArgumentOf(reader, *argument);
  }
  tool.risk = RiskAt(reader, node);
  if (const YamlNode* words = reader.Find(node, "words", true)) {
    if (words->kind != YamlNode::Kind::kMap) {
      reader.Fail(*words, "\"words\" must be a map of languages, e.g. en: [open, raise]");
    }
    for (const YamlEntry& entry : words->entries) {
      tool.words[entry.key] = NamesAt(reader, *words, entry.key);
    }
  }
  tool.say = LineAt(reader, node, "say", kLineCharactersMax);
  tool.payload = LineAt(reader, node, "payload", kLineCharactersMax);
  return tool;
}

Tools ToolsOf(YamlReader& reader, const YamlNode& root) {
  Tools tools;
  tools.file = reader.file();
  if (!reader.IsMap(root, "the tools", {"version", "tools"})) return tools;
  tools.version = static_cast<int>(reader.Integer(root, "version", 1, kVersionMax));
  const auto nodes = reader.ListOr(root, "tools");
  if (nodes.empty()) reader.Fail(root, "there is no tool; add one under \"tools\"");
  if (!WithinLimit(reader, root, nodes.size(), kToolsMax, "tools")) return tools;
  for (const YamlNode* node : nodes) tools.tools.push_back(ToolOf(reader, *node));
  return tools;
}

Area AreaOf(YamlReader& reader, const YamlNode& node) {
  Area area;
  area.place = PlaceOf(node);
  if (!reader.IsMap(node, "an area", {"name", "floor", "aliases"})) return area;
  area.name = NameAt(reader, node, "name");
  area.floor = LineOr(reader, node, "floor", integrations::kNameCharactersMax);
  area.aliases = NamesAt(reader, node, "aliases");
  return area;
}

// An MQTT topic to publish to: no wildcards, no control characters.
void CheckTopic(YamlReader& reader, const YamlNode& node, const std::string& topic) {
  if (topic.find_first_of("+#") != std::string::npos || topic.starts_with('$')) {
    reader.Fail(node,
                "\"command_topic\" must be a topic to publish to, without +, # and a leading "
                "$, found \"" +
                    topic + "\"");
  }
}

Device DeviceOf(YamlReader& reader, const YamlNode& node) {
  Device device;
  device.place = PlaceOf(node);
  if (!reader.IsMap(node, "a device",
                    {"name", "area", "class", "aliases", "can", "confirm", "deny", "command_topic",
                     "payloads"})) {
    return device;
  }
  device.name = NameAt(reader, node, "name");
  device.area = LineOr(reader, node, "area", integrations::kNameCharactersMax);
  device.device_class = NameAt(reader, node, "class");
  device.aliases = NamesAt(reader, node, "aliases");
  device.can = NamesAt(reader, node, "can");
  device.confirm = NamesAt(reader, node, "confirm");
  device.deny = NamesAt(reader, node, "deny");
  device.command_topic = LineOr(reader, node, "command_topic", kLineCharactersMax);
  if (const YamlNode* topic = reader.Find(node, "command_topic", false)) {
    CheckTopic(reader, *topic, device.command_topic);
  }
  if (const YamlNode* payloads = reader.Find(node, "payloads", false)) {
    if (payloads->kind != YamlNode::Kind::kMap) {
      reader.Fail(*payloads, "\"payloads\" must be a map from tool to payload");
    }
    for (const YamlEntry& entry : payloads->entries) {
      device.payloads[entry.key] = LineAt(reader, *payloads, entry.key, kLineCharactersMax);
    }
  }
  return device;
}

House HouseOf(YamlReader& reader, const YamlNode& root) {
  House house;
  house.file = reader.file();
  if (!reader.IsMap(root, "the house",
                    {"version", "name", "floors", "areas", "devices", "notes"})) {
    return house;
  }
  house.version = static_cast<int>(reader.Integer(root, "version", 1, kVersionMax));
  house.name = NameAt(reader, root, "name");
  house.floors = TextsAt(reader, root, "floors", integrations::kNameCharactersMax);
  for (const YamlNode* node : reader.ListOr(root, "areas")) {
    house.areas.push_back(AreaOf(reader, *node));
  }
  const auto nodes = reader.ListOr(root, "devices");
  if (nodes.empty()) reader.Fail(root, "there is no device; add one under \"devices\"");
  if (!WithinLimit(reader, root, nodes.size(), kDevicesMax, "devices")) return house;
  for (const YamlNode* node : nodes) house.devices.push_back(DeviceOf(reader, *node));
  house.notes = TextsAt(reader, root, "notes", kLineCharactersMax);
  return house;
}

constexpr YamlLimits kLimits{.bytes_max = kDocumentBytesMax};

// Fills `part` from one parsed document. Returns: an empty string, or what is wrong.
template <typename Part>
std::string Fill(const std::string& file, const std::expected<YamlNode, std::string>& root,
                 Part (*from)(YamlReader&, const YamlNode&), Part& part) {
  if (!root) return root.error();
  YamlReader reader(file);
  part = from(reader, *root);
  return reader.error();
}

using Root = std::expected<YamlNode, std::string>;

struct Roots {
  std::string policy_file;
  std::string tools_file;
  std::string house_file;
};

std::expected<Home, std::string> HomeOf(const Roots& files, const Root& policy, const Root& tools,
                                        const Root& house) {
  Home home;
  std::string wrong = Fill(files.policy_file, policy, PolicyOf, home.policy);
  if (wrong.empty()) wrong = Fill(files.tools_file, tools, ToolsOf, home.tools);
  if (wrong.empty()) wrong = Fill(files.house_file, house, HouseOf, home.house);
  if (wrong.empty()) wrong = CheckHome(home);
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return home;
}

}  // namespace

std::expected<Home, std::string> ParseHome(const Document& policy, const Document& tools,
                                           const Document& house) {
  return HomeOf({policy.file, tools.file, house.file}, ParseYaml(policy.file, policy.text, kLimits),
                ParseYaml(tools.file, tools.text, kLimits),
                ParseYaml(house.file, house.text, kLimits));
}

std::expected<Home, std::string> LoadHome(const std::string& folder) {
  const Roots files{folder + "/policy.yaml", folder + "/tools.yaml", folder + "/house.yaml"};
  return HomeOf(files, LoadYaml(files.policy_file, kLimits), LoadYaml(files.tools_file, kLimits),
                LoadYaml(files.house_file, kLimits));
}

}  // namespace service
