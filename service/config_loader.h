// assistant.yaml → Config, or a sentence with file:line:column and the way out. Unknown keys and
// values out of range are refused.
#pragma once

#include <expected>
#include <string>

#include "integrations/home.h"
#include "service/config.h"

namespace service {

// Reads <folder>/assistant.yaml. Paths in the result are ready to be opened.
[[nodiscard]] std::expected<Config, std::string> LoadConfig(const std::string& folder);

// The same from memory; no I/O. `folder` and `models_folder` complete relative paths.
[[nodiscard]] std::expected<Config, std::string> ParseConfig(const std::string& file,
                                                             const std::string& text,
                                                             const std::string& folder,
                                                             const std::string& models_folder);

// Reads the three documents that the configuration names.
[[nodiscard]] std::expected<integrations::Home, std::string> LoadDocuments(
    const DocumentPaths& paths);

// The password in mqtt.password_file; empty when there is none. A file that others may read is
// refused.
[[nodiscard]] std::expected<std::string, std::string> LoadPassword(const Config& config);

}  // namespace service
