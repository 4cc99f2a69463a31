// YAML text → a tree with places, and a reader that takes it apart with sentences for people.
//
// The only door for YAML. Refused: text that is not UTF-8, control characters, several documents,
// anchors and aliases (so that nothing can grow by repetition), explicit tags, keys that are no
// plain text or stand twice in one map, and what passes the limits. Text is normalized to NFC.
// Errors begin with file:line:column and end with the way out.
//
// Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace service {

struct YamlLimits {
  std::size_t bytes_max = 1 << 20;
  std::size_t nodes_max = 50'000;
  int depth_max = 16;
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNothing, kText, kList, kMap };
  Kind kind = Kind::kNothing;
  bool quoted = false;  // kText: in quotes, so never a number or a truth value
  std::string text;
  std::vector<YamlNode> items;     // kList
  std::vector<YamlEntry> entries;  // kMap, in the order of the file
  int line = 0;                    // from 1
  int column = 0;
};

struct YamlEntry {
  std::string key;
  int line = 0;
  int column = 0;
  YamlNode value;
};

// An empty document is an empty map. `file` is for the messages.
[[nodiscard]] std::expected<YamlNode, std::string> ParseYaml(std::string_view file,
                                                             std::string_view text,
                                                             const YamlLimits& limits);
// Reads the file and parses it.
[[nodiscard]] std::expected<YamlNode, std::string> LoadYaml(const std::string& file,
                                                            const YamlLimits& limits);

// What people call it: "a list", "a map", "text", "nothing".
std::string_view YamlKindName(YamlNode::Kind kind);

// Takes a tree apart. The first problem is kept, later ones are not: after it every getter still
// returns something harmless, so that one check at the end is enough.
class YamlReader {
 public:
  explicit YamlReader(std::string file) : file_(std::move(file)) {}

  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  const std::string& file() const { return file_; }

  // Keeps "file:line:column: sentence" if it is the first.
  void Fail(int line, int column, const std::string& sentence);
  void Fail(const YamlNode& node, const std::string& sentence);

  // Whether the node is a map; its keys must be among `known`. `what` is e.g. "a device".
  bool IsMap(const YamlNode& node, std::string_view what,
             std::initializer_list<std::string_view> known);
  // Null when there is none; a missing required key is a problem.
  const YamlNode* Find(const YamlNode& map, std::string_view key, bool required);

  // Getters of a key's value: `fallback` when the key is absent.
  std::string Text(const YamlNode& map, std::string_view key);  // required, not empty
  std::string TextOr(const YamlNode& map, std::string_view key, std::string_view fallback);
  std::int64_t Integer(const YamlNode& map, std::string_view key, std::int64_t min,
                       std::int64_t max);  // required
  std::int64_t IntegerOr(const YamlNode& map, std::string_view key, std::int64_t min,
                         std::int64_t max, std::int64_t fallback);
  double NumberOr(const YamlNode& map, std::string_view key, double min, double max,
                  double fallback);
  bool FlagOr(const YamlNode& map, std::string_view key, bool fallback);
  // The items of a list, each one a text node; empty when the key is absent.
  std::vector<const YamlNode*> TextsOr(const YamlNode& map, std::string_view key);
  // The items of a list; empty when the key is absent.
  std::vector<const YamlNode*> ListOr(const YamlNode& map, std::string_view key);

 private:
  std::int64_t IntegerOf(const YamlNode& node, std::string_view key, std::int64_t min,
                         std::int64_t max);

  std::string file_;
  std::string error_;
};

}  // namespace service
