// The part of yaml_loader.h that takes trees apart.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "service/yaml_loader.h"

namespace service {
namespace {

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string Joined(std::initializer_list<std::string_view> words) {
  std::string joined;
  for (const std::string_view word : words) {
    if (!joined.empty()) joined += ", ";
    joined += word;
  }
  return joined;
}

std::string Found(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kText) return Quoted(node.text);
  return std::string(YamlKindName(node.kind));
}

// Decimal, no exponent, the same in every locale.
std::string Decimal(double value) {
  if (value == std::floor(value)) return std::to_string(static_cast<std::int64_t>(value));
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  return {digits, end.ptr};
}

}  // namespace

void YamlReader::Fail(int line, int column, const std::string& sentence) {
  if (!error_.empty()) return;
  error_ = file_ + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + sentence;
}

void YamlReader::Fail(const YamlNode& node, const std::string& sentence) {
  Fail(node.line, node.column, sentence);
}

bool YamlReader::IsMap(const YamlNode& node, std::string_view what,
                       std::initializer_list<std::string_view> known) {
  if (node.kind != YamlNode::Kind::kMap) {
    Fail(node, std::string(what) + " must be a map (key: value), found " + Found(node));
    return false;
  }
  for (const YamlEntry& entry : node.entries) {
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    Fail(entry.line, entry.column,
         "unknown key " + Quoted(entry.key) + " in " + std::string(what) + "; known are " +
             Joined(known));
    return false;
  }
  return true;
}

const YamlNode* YamlReader::Find(const YamlNode& map, std::string_view key, bool required) {
  for (const YamlEntry& entry : map.entries) {
    if (entry.key == key) return &entry.value;
  }
  if (required) Fail(map, "the key " + Quoted(key) + " is missing; add it");
  return nullptr;
}

std::string YamlReader::Text(const YamlNode& map, std::string_view key) {
  const YamlNode* node = Find(map, key, true);
  if (node == nullptr) return "";
  if (node->kind != YamlNode::Kind::kText || node->text.empty()) {
    Fail(*node, Quoted(key) + " must be text, found " + Found(*node));
    return "";
  }
  return node->text;
}

std::string YamlReader::TextOr(const YamlNode& map, std::string_view key,
                               std::string_view fallback) {
  const YamlNode* node = Find(map, key, false);
  if (node == nullptr) return std::string(fallback);
  if (node->kind != YamlNode::Kind::kText) {
    Fail(*node, Quoted(key) + " must be text, found " + Found(*node));
    return std::string(fallback);
  }
  return node->text;
}

std::int64_t YamlReader::IntegerOf(const YamlNode& node, std::string_view key, std::int64_t min,
                                   std::int64_t max) {
  const std::string expected = Quoted(key) + " must be a whole number from " + std::to_string(min) +
                               " to " + std::to_string(max) + ", found ";
  std::int64_t value = 0;
  const char* const end = node.text.data() + node.text.size();
  const auto [stop, problem] = std::from_chars(node.text.data(), end, value);
  const bool number = node.kind == YamlNode::Kind::kText && !node.quoted && !node.text.empty() &&
                      problem == std::errc{} && stop == end;
  if (number && value >= min && value <= max) return value;
  Fail(node, expected + Found(node));
  return min;
}

std::int64_t YamlReader::Integer(const YamlNode& map, std::string_view key, std::int64_t min,
                                 std::int64_t max) {
  const YamlNode* node = Find(map, key, true);
  return node == nullptr ? min : IntegerOf(*node, key, min, max);
}

std::int64_t YamlReader::IntegerOr(const YamlNode& map, std::string_view key, std::int64_t min,
                                   std::int64_t max, std::int64_t fallback) {
  const YamlNode* node = Find(map, key, false);
  return node == nullptr ? fallback : IntegerOf(*node, key, min, max);
}

double YamlReader::NumberOr(const YamlNode& map, std::string_view key, double min, double max,
                            double fallback) {
  const YamlNode* node = Find(map, key, false);
  if (node == nullptr) return fallback;
  double value = 0;
  const char* const end = node->text.data() + node->text.size();
  const auto [stop, problem] =
      std::from_chars(node->text.data(), end, value, std::chars_format::fixed);
  const bool number = node->kind == YamlNode::Kind::kText && !node->quoted && !node->text.empty() &&
                      problem == std::errc{} && stop == end;
  if (number && value >= min && value <= max) return value;
  Fail(*node, Quoted(key) + " must be a number from " + Decimal(min) + " to " + Decimal(max) +
                  ", found " + Found(*node));
  return fallback;
}

bool YamlReader::FlagOr(const YamlNode& map, std::string_view key, bool fallback) {
  const YamlNode* node = Find(map, key, false);
  if (node == nullptr) return fallback;
  if (node->kind == YamlNode::Kind::kText && !node->quoted) {
    if (node->text == "true") return true;
    if (node->text == "false") return false;
  }
  Fail(*node, Quoted(key) + " must be true or false, found " + Found(*node));
  return fallback;
}

std::vector<const YamlNode*> YamlReader::ListOr(const YamlNode& map, std::string_view key) {
  std::vector<const YamlNode*> items;
  const YamlNode* node = Find(map, key, false);
  if (node == nullptr) return items;
  if (node->kind != YamlNode::Kind::kList) {
    Fail(*node, Quoted(key) + " must be a list, found " + Found(*node));
    return items;
  }
  for (const YamlNode& item : node->items) items.push_back(&item);
  return items;
}

std::vector<const YamlNode*> YamlReader::TextsOr(const YamlNode& map, std::string_view key) {
  std::vector<const YamlNode*> items = ListOr(map, key);
  for (const YamlNode* item : items) {
    if (item->kind == YamlNode::Kind::kText && !item->text.empty()) continue;
    Fail(*item, "each item of " + Quoted(key) + " must be text, found " + Found(*item));
    return {};
  }
  return items;
}

}  // namespace service
