#include "tests/support/source_tree.h"

#include <array>
#include <fstream>
#include <iterator>

namespace support {
namespace {

namespace fs = std::filesystem;

bool IsLeftOut(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const bool is_hidden = name.starts_with(".") && name != ".ci" && name != ".github";
  return is_hidden || name.starts_with("build") || name == "__pycache__" ||
         (name == "data" && folder.parent_path().filename() == "tests");
}

bool IsText(const fs::path& path) {
  constexpr std::array kExtensions = {".cc",   ".h",  ".md",   ".txt",    ".cmake",
                                      ".yaml", ".py", ".json", ".yml",    ".conf",
                                      ".sh",   ".in", "",      ".service"};
  const std::string extension = path.extension().string();
  for (const char* known : kExtensions) {
    if (extension == known) return true;
  }
  return false;
}

}  // namespace

SourceTree ReadSourceTree(const fs::path& root) {
  SourceTree tree;
  auto entry = fs::recursive_directory_iterator(root);
  for (; entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry->is_directory()) {
      if (IsLeftOut(entry->path())) entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file() || !IsText(entry->path())) continue;
    std::ifstream file(entry->path(), std::ios::binary);
    tree[entry->path().lexically_relative(root).generic_string()] = {
        std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  return tree;
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string_view FolderOf(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

}  // namespace support
