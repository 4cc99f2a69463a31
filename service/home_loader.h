// The three documents of a home: YAML → plain structs, or a sentence with file:line:column.
//
// Refused: unknown keys, wrong types, missing keys, names that are not unique, not printable or too
// long, tools, areas and devices that are named but do not exist, examples that are no valid calls.
// Text is normalized to NFC.
//
// Limit: kDocumentBytesMax per file, kDevicesMax devices, kToolsMax tools, kExamplesMax examples.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "integrations/home.h"

namespace service {

inline constexpr std::size_t kDocumentBytesMax = 1 << 20;
inline constexpr std::size_t kDevicesMax = 1000;
inline constexpr std::size_t kToolsMax = 100;
inline constexpr std::size_t kExamplesMax = 1000;

// Reads policy.yaml, tools.yaml and house.yaml in `folder`.
[[nodiscard]] std::expected<integrations::Home, std::string> LoadHome(const std::string& folder);

// A document's name for messages, and its text.
struct Document {
  std::string file;
  std::string text;
};
// The same from memory; no I/O.
[[nodiscard]] std::expected<integrations::Home, std::string> ParseHome(const Document& policy,
                                                                       const Document& tools,
                                                                       const Document& house);

}  // namespace service
