#include "kernels/onednn_matmul.h"

#include <dnnl.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace kernels {
namespace {

constexpr int kGroupRows = 16;
constexpr int kSliceOutputs = 64;

// oneDNN's only failures here are a lack of memory and mistakes of ours.
void Check(dnnl_status_t status) {
  if (status == dnnl_success) return;
  std::fprintf(stderr, "oneDNN failed with status %d\n", static_cast<int>(status));
  std::abort();
}

// x[16][columns] times W[outputs][columns] transposed, with one worker's own memory objects.
struct Call {
  dnnl_primitive_t primitive = nullptr;
  dnnl_memory_t source = nullptr;
  dnnl_memory_t weights = nullptr;
  dnnl_memory_t result = nullptr;
};

struct Context {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  std::map<std::pair<int, int>, Call> calls;  // by (columns, outputs)
  std::vector<float> padded;                  // [16][columns], the widest
  std::vector<float> result;                  // [16][64]
};

// One per worker; grows at load, never shrinks. Never destroyed: oneDNN may be gone before us.
std::vector<std::unique_ptr<Context>>& Contexts() {
  static auto& contexts = *new std::vector<std::unique_ptr<Context>>;
  return contexts;
}

// What differs between oneDNN 2 (Debian 12) and 3 (Debian 13). Descriptors of version 3 are
// handles, which stay for the life of the program like the calls made of them.
#if DNNL_VERSION_MAJOR >= 3
using Description = dnnl_memory_desc_t;
const_dnnl_memory_desc_t Passed(const Description& description) { return description; }
void Drop(Description description) { Check(dnnl_memory_desc_destroy(description)); }

Description MakeDescription(const dnnl_dims_t& dims, dnnl_format_tag_t order) {
  Description description = nullptr;
  Check(dnnl_memory_desc_create_with_tag(&description, 2, dims, dnnl_f32, order));
  return description;
}

dnnl_primitive_desc_t MakeMatmul(dnnl_engine_t engine, const Description& source,
                                 const Description& weights, const Description& result) {
  dnnl_primitive_desc_t matmul = nullptr;
  Check(dnnl_matmul_primitive_desc_create(&matmul, engine, source, weights, nullptr, result,
                                          nullptr));
  return matmul;
}
#else
using Description = dnnl_memory_desc_t;
const dnnl_memory_desc_t* Passed(const Description& description) { return &description; }
void Drop(const Description& /*description*/) {}

Description MakeDescription(const dnnl_dims_t& dims, dnnl_format_tag_t order) {
  Description description;
  Check(dnnl_memory_desc_init_by_tag(&description, 2, dims, dnnl_f32, order));
  return description;
}

dnnl_primitive_desc_t MakeMatmul(dnnl_engine_t engine, const Description& source,
                                 const Description& weights, const Description& result) {
  dnnl_matmul_desc_t desc;
  Check(dnnl_matmul_desc_init(&desc, &source, &weights, nullptr, &result));
  dnnl_primitive_desc_t matmul = nullptr;
  Check(dnnl_primitive_desc_create(&matmul, &desc, nullptr, engine, nullptr));
  return matmul;
}
#endif

Call MakeCall(const Context& context, int columns, int outputs) {
  const Description source = MakeDescription({kGroupRows, columns}, dnnl_ab);
  const Description weights = MakeDescription({columns, outputs}, dnnl_ba);
  const Description result = MakeDescription({kGroupRows, outputs}, dnnl_ab);
  dnnl_primitive_desc_t matmul = MakeMatmul(context.engine, source, weights, result);
  Call call;
  Check(dnnl_primitive_create(&call.primitive, matmul));
  Check(dnnl_primitive_desc_destroy(matmul));
  Check(dnnl_memory_create(&call.source, Passed(source), context.engine, DNNL_MEMORY_NONE));
  Check(dnnl_memory_create(&call.weights, Passed(weights), context.engine, DNNL_MEMORY_NONE));
  Check(dnnl_memory_create(&call.result, Passed(result), context.engine, DNNL_MEMORY_NONE));
  Drop(source);
  Drop(weights);
  Drop(result);
  return call;
}

void Run(const Context& context, const Call& call, const float* x, const float* weights,
         float* result) {
  // oneDNN's handles are void*; it only reads the first two.
  Check(dnnl_memory_set_data_handle(call.source, const_cast<float*>(x)));
  Check(dnnl_memory_set_data_handle(call.weights, const_cast<float*>(weights)));
  Check(dnnl_memory_set_data_handle(call.result, result));
  const dnnl_exec_arg_t arguments[] = {
      {DNNL_ARG_SRC, call.source}, {DNNL_ARG_WEIGHTS, call.weights}, {DNNL_ARG_DST, call.result}};
  Check(dnnl_primitive_execute(call.primitive, context.stream, 3, arguments));
  Check(dnnl_stream_wait(context.stream));
}

int OutputsOfSlice(int rows, int slice) {
  return std::min(kSliceOutputs, PanelCount(rows) * kPanelRows - slice * kSliceOutputs);
}

int SliceCount(int rows) {
  return (PanelCount(rows) * kPanelRows + kSliceOutputs - 1) / kSliceOutputs;
}

}  // namespace

void PrepareFloat(int rows, int columns, int worker_count) {
  auto& contexts = Contexts();
  while (static_cast<int>(contexts.size()) < worker_count) {
    auto context = std::make_unique<Context>();
    Check(dnnl_engine_create(&context->engine, dnnl_cpu, 0));
    Check(dnnl_stream_create(&context->stream, context->engine, dnnl_stream_default_flags));
    context->result.resize(static_cast<std::size_t>(kGroupRows) * kSliceOutputs);
    contexts.push_back(std::move(context));
  }
  for (auto& context : contexts) {
    const std::size_t padded = static_cast<std::size_t>(kGroupRows * columns);
    if (context->padded.size() < padded) context->padded.resize(padded);
    for (int slice = 0; slice < SliceCount(rows); ++slice) {
      const std::pair key{columns, OutputsOfSlice(rows, slice)};
      if (context->calls.contains(key)) continue;
      context->calls.emplace(key, MakeCall(*context, key.first, key.second));
    }
  }
}

void MultiplyFloat(const PackedMatrix& weights, const ActivationRows& x, float* y,
                   std::size_t y_stride, const Worker& worker) {
  assert(worker.index() < static_cast<int>(Contexts().size()));
  Context& context = *Contexts()[static_cast<std::size_t>(worker.index())];
  const auto columns = static_cast<std::size_t>(weights.columns);
  const auto* matrix = reinterpret_cast<const float*>(weights.panels);
  const Range share = worker.Share(SliceCount(weights.rows));
  for (int first = 0; first < x.row_count; first += kGroupRows) {
    const int rows = std::min(kGroupRows, x.row_count - first);
    const float* source = x.floats + static_cast<std::size_t>(first) * columns;
    if (rows < kGroupRows) {
      std::fill(context.padded.begin(), context.padded.end(), 0.0F);
      std::memcpy(context.padded.data(), source,
                  static_cast<std::size_t>(rows) * columns * sizeof(float));
      source = context.padded.data();
    }
    for (int slice = share.begin; slice < share.end; ++slice) {
      const int outputs = OutputsOfSlice(weights.rows, slice);
      const auto call = context.calls.find({weights.columns, outputs});
      assert(call != context.calls.end());
      const int output = slice * kSliceOutputs;
      Run(context, call->second, source, matrix + static_cast<std::size_t>(output) * columns,
          context.result.data());
      const int kept = std::min(outputs, weights.rows - output);
      for (int row = 0; row < rows; ++row) {
        std::memcpy(y + static_cast<std::size_t>(first + row) * y_stride + output,
                    context.result.data() + static_cast<std::size_t>(row * outputs),
                    static_cast<std::size_t>(kept) * sizeof(float));
      }
    }
  }
}

}  // namespace kernels
