#include "service/yaml_loader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <exception>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "engine/unicode.h"

namespace service {
namespace {

std::string At(std::string_view file, int line, int column) {
  return std::string(file) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

// Thrown inside this file only, where yaml-cpp's parser is to be stopped.
struct Refusal {
  int line = 0;
  int column = 0;
  std::string sentence;
};

// Builds the tree from the parser's events; nothing is ever copied by an alias.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const YamlLimits& limits) : limits_(limits) {}

  YamlNode Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Check(mark, "", anchor);
    Add(Node(mark, YamlNode::Kind::kNothing));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(mark, "an alias (*name) is not allowed; write the text out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Check(mark, tag, anchor);
    YamlNode node = Node(mark, YamlNode::Kind::kText);
    node.quoted = tag == "!";
    node.text = Clean(mark, value);
    Add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Level {
    YamlNode node;
    std::optional<YamlEntry> entry;  // a key that waits for its value
  };

  [[noreturn]] static void Refuse(const YAML::Mark& mark, std::string sentence) {
    throw Refusal{mark.line + 1, mark.column + 1, std::move(sentence)};
  }

  static YamlNode Node(const YAML::Mark& mark, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  void Check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) {
      Refuse(mark, "an anchor (&name) is not allowed; leave it out and write the text out");
    }
    if (!tag.empty() && tag != "?" && tag != "!") {
      Refuse(mark, "the tag \"" + tag + "\" is not allowed; leave it out");
    }
    if (++node_count_ > limits_.nodes_max) {
      Refuse(mark, "more than " + std::to_string(limits_.nodes_max) +
                       " values; split the home or remove some");
    }
  }

  static std::string Clean(const YAML::Mark& mark, const std::string& value) {
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\n') || byte == 0x7f) {
        Refuse(mark, "the text holds a control character; remove it");
      }
    }
    const auto normal = engine::NormalizeNfc(value);
    if (!normal) Refuse(mark, "the text is not valid UTF-8; save the file as UTF-8");
    return *normal;
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    Check(mark, tag, anchor);
    if (static_cast<int>(levels_.size()) >= limits_.depth_max) {
      Refuse(mark,
             "nested more than " + std::to_string(limits_.depth_max) + " levels deep; flatten it");
    }
    levels_.push_back({Node(mark, kind), std::nullopt});
  }

  void Close() {
    assert(!levels_.empty());
    YamlNode node = std::move(levels_.back().node);
    levels_.pop_back();
    Add(std::move(node));
  }

  void Add(YamlNode node) {
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.kind == YamlNode::Kind::kList) {
      level.node.items.push_back(std::move(node));
    } else if (level.entry) {
      level.entry->value = std::move(node);
      level.node.entries.push_back(std::move(*level.entry));
      level.entry.reset();
    } else {
      AddKey(level, std::move(node));
    }
  }

  static void AddKey(Level& level, YamlNode node) {
    const YAML::Mark mark = [&] {
      YAML::Mark place;
      place.line = node.line - 1;
      place.column = node.column - 1;
      return place;
    }();
    if (node.kind != YamlNode::Kind::kText || node.text.empty()) {
      Refuse(mark, "a key must be text, this one is " + std::string(YamlKindName(node.kind)));
    }
    for (const YamlEntry& entry : level.node.entries) {
      if (entry.key != node.text) continue;
      Refuse(mark, "the key \"" + node.text + "\" stands here and in line " +
                       std::to_string(entry.line) + "; remove one");
    }
    level.entry = YamlEntry{std::move(node.text), node.line, node.column, {}};
  }

  YamlLimits limits_;
  YAML::Mark mark_;
  std::size_t node_count_ = 0;
  std::vector<Level> levels_;
  YamlNode root_;
};

// Returns: an empty string, or where and what is wrong with the bytes.
std::string CheckBytes(std::string_view file, std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return std::string(file) + ": the file has " + std::to_string(text.size()) +
           " bytes, the limit is " + std::to_string(limits.bytes_max) + "; shorten it";
  }
  int line = 1;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != '\n') {
      const auto byte = static_cast<unsigned char>(text[i]);
      const bool line_end = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
      if ((byte < 0x20 && !line_end) || byte == 0x7f) {
        const std::string what = text[i] == '\t' ? "a tab" : "a control character";
        return At(file, line, static_cast<int>(i - start) + 1) + what + "; use spaces";
      }
      continue;
    }
    if (!engine::NormalizeNfc(text.substr(start, i - start))) {
      return At(file, line, 1) + "the line is not valid UTF-8; save the file as UTF-8";
    }
    ++line;
    start = i + 1;
  }
  return "";
}

}  // namespace

std::string_view YamlKindName(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::kNothing:
      return "nothing";
    case YamlNode::Kind::kText:
      return "text";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "nothing";
}

std::expected<YamlNode, std::string> ParseYaml(std::string_view file, std::string_view text,
                                               const YamlLimits& limits) {
  std::string wrong = CheckBytes(file, text, limits);
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(limits);
    if (!parser.HandleNextDocument(builder)) {
      YamlNode empty;
      empty.kind = YamlNode::Kind::kMap;
      empty.line = 1;
      empty.column = 1;
      return empty;
    }
    YamlNode root = builder.Take();
    TreeBuilder rest(limits);
    if (parser.HandleNextDocument(rest)) {
      const YamlNode second = rest.Take();
      return std::unexpected(At(file, second.line, second.column) +
                             "a second document begins here (\"---\"); one file holds one");
    }
    return root;
  } catch (const Refusal& refusal) {
    return std::unexpected(At(file, refusal.line, refusal.column) + refusal.sentence);
  } catch (const YAML::Exception& problem) {
    return std::unexpected(At(file, problem.mark.line + 1, problem.mark.column + 1) +
                           "not valid YAML: " + problem.msg + "; check quotes and indentation");
  } catch (const std::exception& problem) {
    return std::unexpected(std::string(file) + ": not valid YAML: " + problem.what());
  }
}

std::expected<YamlNode, std::string> LoadYaml(const std::string& file, const YamlLimits& limits) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return std::unexpected(file + ": can't be opened: " + std::generic_category().message(errno) +
                           "; check the path and its permissions");
  }
  std::string text(limits.bytes_max + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad()) return std::unexpected(file + ": reading failed; check the disk");
  return ParseYaml(file, text, limits);
}

}  // namespace service
