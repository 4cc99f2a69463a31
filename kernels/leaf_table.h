// The leaf kernels: one thread, one share of the work. One table per instruction set.
//
// Plain structs and function pointers only: leaf files are compiled with instruction-set flags, so
// nothing inline may reach them that the linker could keep for the whole program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernels {

// Panels [panel_begin, panel_end) times all rows of activations (kernels/matmul.h has the layouts).
struct MatmulJob {
  int format;  // a WeightFormat with panels: not kF32
  const uint8_t* panels;
  size_t panel_bytes;
  int panel_begin;
  int panel_end;
  int rows;     // outputs of the whole matrix; a last panel may reach beyond
  int columns;  // multiple of 32
  const int8_t* values;
  const float* scales;
  const int32_t* sums;
  const float* floats;
  int row_count;
  float* y;
  size_t y_stride;
};

// One KV head, one chunk of 256 tokens, all query rows that share them.
struct AttentionJob {
  const uint8_t* heads[4];  // this head's part of each of the chunk's blocks; null beyond the last
  const uint8_t* next[4];   // the same of the chunk that comes next, to fetch ahead; never null
  int head_dim;
  float scale;
  const float* queries;  // row r, group member g: at r * query_stride + g * head_dim
  size_t query_stride;
  int group;  // query heads per KV head
  int row_count;
  int first_visible;  // tokens of this chunk that row 0 sees; row r sees r more; may be <= 0
  float* sums;        // [row_count * group][head_dim], weighted values
  float* maxima;      // [row_count * group]
  float* totals;      // [row_count * group], sum of the weights
};

// One output row: chunk c's partial sums are at sums + c * sums_stride, and so on.
struct MergeJob {
  int chunk_count;
  int head_dim;
  const float* sums;
  size_t sums_stride;
  const float* maxima;
  const float* totals;
  size_t totals_stride;
  float* out;
};

struct LeafTable {
  const char* name;
  void (*matmul)(const MatmulJob& job);
  void (*attention_chunk)(const AttentionJob& job);
  void (*attention_merge)(const MergeJob& job);
  // Block b of the row goes to values + b * value_step, scales + b * step, sums + b * step.
  void (*quantize_row)(const float* floats, int columns, int8_t* values, size_t value_step,
                       float* scales, int32_t* sums, size_t step);
  void (*store_key_value)(const float* key, const float* value, int head_dim, uint16_t* keys,
                          uint16_t* values, int slot);
  void (*rms_norm)(const float* x, const float* weight, float epsilon, int width, float* out);
  void (*rotate_head)(const float* cosines, const float* sines, int pairs, float* head);
  void (*swiglu)(const float* gate, const float* up, int width, float* out);
  void (*add_in_place)(const float* y, int width, float* x);
};

extern const LeafTable kScalarLeaves;
#if defined(__x86_64__)
extern const LeafTable kAvx2Leaves;
extern const LeafTable kAvxVnniLeaves;
extern const LeafTable kAvx512Leaves;
#endif

}  // namespace kernels
