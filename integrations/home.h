// What a home is: the three documents as plain structs.
//
// service/ fills them from YAML (service/home_loader.h); here they are only read. Every text is
// NFC, printable and one line. Places say where in its file a thing stands, so that whatever is
// refused later can still be pointed at. Places and the order of lists never reach the prefix (the
// order of rules and examples does: it has a meaning).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace integrations {

// In characters.
inline constexpr int kNameCharactersMax = 48;

// Counted from 1; 0: unknown.
struct Place {
  int line = 0;
  int column = 0;
};

struct Text {
  std::string text;
  Place place;
};

enum class Risk { kAllow, kConfirm, kDeny };

// A worked example: a call (device, tool, perhaps value), words to say, or asking back.
struct Example {
  std::string user;
  std::string device;  // empty: no call
  std::string tool;
  std::string value;  // empty: none
  std::string say;    // empty: not in words
  bool ask = false;
  Place place;
};

struct Policy {
  std::string file;
  int version = 0;
  std::string language;  // of the words in tools.yaml, e.g. "en"
  Text persona;
  std::vector<Text> rules;
  Text ask;      // asks which device is meant
  Text unclear;  // nothing was understood
  Text confirm;  // asks for a yes: {call}, {name}
  Text denied;   // the policy forbids it: {name}
  Text failed;   // it could not be done: {name}
  std::vector<Example> examples;
};

struct Argument {
  enum class Type { kNumber, kEnum };
  std::string name;
  Type type = Type::kNumber;
  int min = 0;  // inclusive
  int max = 0;
  std::vector<std::string> values;
};

struct Tool {
  std::string name;
  std::string does;
  std::vector<std::string> classes;
  std::string needs;  // a capability; empty: none
  std::optional<Argument> argument;
  Risk risk = Risk::kAllow;
  std::map<std::string, std::vector<std::string>> words;  // by language
  std::string say;                                        // {name}, {value}
  std::string payload;                                    // {value}
  Place place;
};

struct Tools {
  std::string file;
  int version = 0;
  std::vector<Tool> tools;
};

struct Area {
  std::string name;
  std::string floor;  // empty: none
  std::vector<std::string> aliases;
  Place place;
};

struct Device {
  std::string name;
  std::string area;  // empty: none
  std::string device_class;
  std::vector<std::string> aliases;
  std::vector<std::string> can;                 // capabilities
  std::vector<std::string> confirm;             // tools that ask first on this device
  std::vector<std::string> deny;                // tools that are never done on it
  std::string command_topic;                    // empty: can't be reached in execute mode
  std::map<std::string, std::string> payloads;  // by tool
  Place place;
};

struct House {
  std::string file;
  int version = 0;
  std::string name;
  std::vector<Text> floors;
  std::vector<Area> areas;
  std::vector<Device> devices;
  std::vector<Text> notes;
};

struct Home {
  Policy policy;
  Tools tools;
  House house;
};

}  // namespace integrations
