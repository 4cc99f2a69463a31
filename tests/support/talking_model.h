// The tiny model with a tokenizer of single bytes and a chat template, so that the whole engine
// runs on it. Its weights are random: only the answer language makes its answers valid.
#pragma once

#include <string>

namespace support {

// Writes it once per process. Returns: the file's path.
std::string TalkingModelFile();

}  // namespace support
