// The text files of the repository as a plain value, so that rules about them can be tested on
// invented trees.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace support {

// Path relative to the repository's root, with '/', → text.
using SourceTree = std::map<std::string, std::string>;

// Reads what people write: sources, CMake lists, scripts, documents, configuration. Leaves out
// build folders, hidden folders other than .ci and .github, and tests/data.
SourceTree ReadSourceTree(const std::filesystem::path& root);

// The lines of a text, without their ends.
std::vector<std::string_view> Lines(std::string_view text);

// The first part of a path ("engine" of "engine/engine.h"), empty for a file at the root.
std::string_view FolderOf(std::string_view path);

}  // namespace support
