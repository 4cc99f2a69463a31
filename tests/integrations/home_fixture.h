// A small home for the tests of integrations/.
#pragma once

#include <string>

#include "integrations/home.h"

namespace integrations {

// A lamp, a ceiling light, a blind and a lock in two areas; six tools.
inline Home SmallHome() {
  Home home;
  home.policy.file = "policy.yaml";
  home.policy.version = 3;
  home.policy.language = "en";
  home.policy.persona = {"You are the voice of this home.", {3, 10}};
  home.policy.rules = {{"Answer with one call.", {5, 5}}};
  home.policy.ask = {"Which device do you mean?", {6, 6}};
  home.policy.unclear = {"I did not understand that.", {7, 10}};
  home.policy.confirm = {"Shall I {call} the {name}?", {8, 10}};
  home.policy.denied = {"I may not touch the {name}.", {9, 9}};
  home.policy.failed = {"I could not reach the {name}.", {10, 9}};
  home.policy.examples.resize(3);
  home.policy.examples[0].user = "turn on the desk lamp";
  home.policy.examples[0].device = "desk lamp";
  home.policy.examples[0].tool = "turn_on";
  home.policy.examples[0].place = {12, 5};
  home.policy.examples[1].user = "nice lamp";
  home.policy.examples[1].say = "Thank you.";
  home.policy.examples[1].place = {13, 5};
  home.policy.examples[2].user = "turn it on";
  home.policy.examples[2].ask = true;
  home.policy.examples[2].place = {14, 5};
  home.tools.file = "tools.yaml";
  home.tools.version = 2;
  const Argument percent{"percent", Argument::Type::kNumber, 1, 100, {}};
  const Argument color{"color", Argument::Type::kEnum, 0, 0, {"red", "blue"}};
  const auto tool = [](const char* name, const char* device_class, std::vector<std::string> words,
                       const char* say, const char* payload) {
    Tool made;
    made.name = name;
    made.does = std::string(name) + " a device";
    made.classes = {device_class};
    made.words["en"] = std::move(words);
    made.say = say;
    made.payload = payload;
    return made;
  };
  home.tools.tools = {
      tool("turn_on", "light", {"turn on"}, "Turned on the {name}.", "ON"),
      tool("turn_off", "light", {"turn off"}, "Turned off the {name}.", "OFF"),
      tool("set_brightness", "light", {"set", "dim"}, "Set the {name} to {value}.", "{value} %"),
      tool("set_color", "light", {"set", "make"}, "Made the {name} {value}.", "{value}"),
      tool("open", "cover", {"open"}, "Opened the {name}.", "OPEN"),
      tool("unlock", "lock", {"unlock"}, "Unlocked the {name}.", "UNLOCK")};
  home.tools.tools[2].argument = percent;
  home.tools.tools[2].needs = "brightness";
  home.tools.tools[3].argument = color;
  home.tools.tools[3].needs = "color";
  home.tools.tools[5].risk = Risk::kConfirm;

  home.house.file = "house.yaml";
  home.house.version = 7;
  home.house.name = "the test house";
  home.house.floors = {{"ground floor", {4, 10}}};
  home.house.areas = {{"study", "ground floor", {"office"}, {6, 5}},
                      {"hall", "ground floor", {}, {7, 5}}};
  const auto device = [](const char* name, const char* area, const char* device_class) {
    Device made;
    made.name = name;
    made.area = area;
    made.device_class = device_class;
    made.command_topic = "home/" + std::string(device_class) + "/set";
    return made;
  };
  home.house.devices = {
      device("desk lamp", "study", "light"), device("ceiling light", "study", "light"),
      device("study blind", "study", "cover"), device("front door", "hall", "lock")};
  home.house.devices[0].can = {"brightness", "color"};
  home.house.devices[0].aliases = {"work lamp"};
  home.house.devices[0].payloads = {{"turn_on", "{\"on\": true}"}};
  home.house.devices[1].can = {"brightness"};
  home.house.notes = {{"The study is quiet.", {20, 5}}};
  return home;
}

}  // namespace integrations
