// Writes the F32 model of a quantized one: dequantize_gguf IN OUT
#include <exception>
#include <iostream>
#include <stdexcept>

#include "engine/gguf_file.h"
#include "engine/mapped_file.h"
#include "tests/support/f32_model.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: dequantize_gguf IN OUT\n";
    return 2;
  }
  try {
    const auto mapped = engine::MappedFile::Open(argv[1]);
    if (!mapped) throw std::runtime_error(mapped.error());
    const auto file = engine::GgufFile::Parse(mapped->bytes(), argv[1]);
    if (!file) throw std::runtime_error(file.error());
    support::F32Model(*file).WriteFile(argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
