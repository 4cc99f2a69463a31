// A model file described for people: `inglenook model dump FILE`.
#pragma once

#include <string>

#include "engine/gguf_file.h"

namespace engine {

// Metadata (long arrays and strings shortened) and tensors (name, shape, type, offset, bytes), as
// lines that end in '\n'. Text from the file is escaped, so a hostile file can't steer a terminal.
[[nodiscard]] std::string DescribeModelFile(const GgufFile& file);

}  // namespace engine
