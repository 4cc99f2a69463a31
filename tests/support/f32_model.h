// A model with the same weights, expanded to F32: what quantized arithmetic is measured against.
#pragma once

#include <vector>

#include "engine/gguf_file.h"
#include "tests/support/gguf_writer.h"

namespace support {

// The tensor's values, [rows][columns], by the formulas of the format. Plain loops of its own: it
// shares no code with the kernels it helps to check.
[[nodiscard]] std::vector<float> Dequantized(const engine::TensorInfo& tensor);

// All metadata (general.file_type says F32) and all tensors as F32, in the file's order.
[[nodiscard]] GgufWriter F32Model(const engine::GgufFile& file);

}  // namespace support
