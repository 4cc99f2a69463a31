#include "engine/model_dump.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace engine {
namespace {

constexpr std::size_t kStringBytesShown = 60;
constexpr std::size_t kElementsShown = 6;

std::string NumberText(float value) {
  std::array<char, 32> buffer = {};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

std::string Quoted(std::string_view text) { return "'" + Printable(text, kStringBytesShown) + "'"; }

std::string FloatText(const GgufFile& file, std::string_view key) {
  const Found<float> value = file.Float(key);
  return value ? NumberText(**value) : std::string("out of f32's range");
}

std::string ScalarText(const GgufFile& file, const MetadataEntry& entry) {
  switch (entry.type) {
    case ValueType::kString:
      return Quoted(**file.String(entry.key));
    case ValueType::kBool:
      return **file.Bool(entry.key) ? "true" : "false";
    case ValueType::kFloat32:
    case ValueType::kFloat64:
      return FloatText(file, entry.key);
    default:
      break;
  }
  if (const Found<std::int64_t> value = file.Int(entry.key)) return std::to_string(**value);
  return std::to_string(**file.Uint(entry.key));
}

// The first elements, as texts; of an array that no getter can read, none.
std::vector<std::string> ElementTexts(const GgufFile& file, const MetadataEntry& entry) {
  std::vector<std::string> texts;
  const auto append = [&](const auto& values, auto text_of) {
    if (!values) return;
    const std::size_t count = std::min(kElementsShown, (*values)->size());
    for (std::size_t i = 0; i < count; ++i) texts.push_back(text_of((**values)[i]));
  };
  switch (entry.element_type) {
    case ValueType::kString:
      append(file.Strings(entry.key), Quoted);
      break;
    case ValueType::kFloat32:
    case ValueType::kFloat64:
      append(file.Floats(entry.key), NumberText);
      break;
    case ValueType::kBool:
      for (std::size_t i = 0; i < std::min(kElementsShown, entry.content.size()); ++i) {
        texts.emplace_back(entry.content[i] != std::byte{0} ? "true" : "false");
      }
      break;
    default:
      append(file.Ints(entry.key), [](std::int64_t value) { return std::to_string(value); });
      break;
  }
  return texts;
}

std::string ArrayText(const GgufFile& file, const MetadataEntry& entry) {
  std::string text = "[";
  const std::vector<std::string> elements = ElementTexts(file, entry);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) text += ", ";
    text += elements[i];
  }
  if (elements.size() < entry.count) text += elements.empty() ? "..." : ", ...";
  return text + "]";
}

std::string EntryLine(const GgufFile& file, const MetadataEntry& entry) {
  const bool is_array = entry.type == ValueType::kArray;
  std::string type(TypeName(entry.element_type));
  if (is_array) type += "[" + std::to_string(entry.count) + "]";
  return "  " + Printable(entry.key, kKeyBytesMax) + "  " + type + "  " +
         (is_array ? ArrayText(file, entry) : ScalarText(file, entry)) + "\n";
}

std::string Padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string TensorLine(const TensorInfo& tensor, std::size_t name_width, std::size_t shape_width) {
  return "  " + Padded(Printable(tensor.name), name_width) + "  " +
         Padded(ShapeText(tensor), shape_width) + "  " +
         Padded(std::string(TypeName(tensor.type)), 4) + "  at " + std::to_string(tensor.offset) +
         ", " + std::to_string(tensor.bytes) + " bytes\n";
}

std::string TypeSummary(const std::vector<TensorInfo>& tensors) {
  std::map<std::string_view, int> counts;
  for (const TensorInfo& tensor : tensors) ++counts[TypeName(tensor.type)];
  std::string text;
  for (const auto& [name, count] : counts) {
    text += (text.empty() ? " (" : ", ") + std::to_string(count) + " x " + std::string(name);
  }
  return text.empty() ? text : text + ")";
}

}  // namespace

std::string DescribeModelFile(const GgufFile& file) {
  std::string text = file.name() + "\n";
  text += "GGUF version " + std::to_string(file.version()) + ", " +
          std::to_string(file.file_bytes()) + " bytes, alignment " +
          std::to_string(file.alignment()) + "\n\n";
  text += std::to_string(file.metadata().size()) + " metadata entries\n";
  for (const MetadataEntry& entry : file.metadata()) text += EntryLine(file, entry);

  const std::vector<TensorInfo>& tensors = file.tensors();
  text += "\n" + std::to_string(tensors.size()) + " tensors" + TypeSummary(tensors) + "\n";
  std::size_t name_width = 0;
  std::size_t shape_width = 0;
  for (const TensorInfo& tensor : tensors) {
    name_width = std::max(name_width, Printable(tensor.name).size());
    shape_width = std::max(shape_width, ShapeText(tensor).size());
  }
  for (const TensorInfo& tensor : tensors) text += TensorLine(tensor, name_width, shape_width);
  return text;
}

}  // namespace engine
