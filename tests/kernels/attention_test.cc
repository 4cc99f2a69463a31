#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "kernels/half.h"
#include "kernels/isa.h"
#include "tests/support/kernel_inputs.h"

namespace {

using kernels::AttentionShape;

constexpr std::size_t kSlots = kernels::kKvBlockTokens;
constexpr std::size_t kLayerOffset = 128;  // as if another layer lay before

// Keys, values and queries of a sequence, in blocks whose unused slots are NaN.
struct Sequence {
  Sequence(const AttentionShape& attention_shape, int tokens, unsigned seed)
      : shape(attention_shape),
        token_count(tokens),
        head_bytes(static_cast<std::size_t>(shape.head_dim) * kSlots * 4) {
    std::mt19937 random(seed);
    const auto dim = static_cast<std::size_t>(shape.head_dim);
    const auto kv_heads = static_cast<std::size_t>(shape.kv_head_count);
    const auto count = static_cast<std::size_t>(tokens);
    keys = support::RandomFloats(count * kv_heads * dim, random);
    values = support::RandomFloats(count * kv_heads * dim, random);
    queries =
        support::RandomFloats(count * static_cast<std::size_t>(shape.head_count) * dim, random);
    for (std::size_t block = 0; block * kSlots < count; ++block) {
      blocks.push_back(
          std::make_unique<support::AlignedBytes>(kLayerOffset + kv_heads * head_bytes));
      std::memset(blocks.back()->data(), 0xFF, blocks.back()->size());
      bases.push_back(blocks.back()->data());
    }
    for (std::size_t token = 0; token < count; ++token) {
      for (std::size_t head = 0; head < kv_heads; ++head) {
        const std::size_t at = (token * kv_heads + head) * dim;
        kernels::StoreKeyValue(&keys[at], &values[at], shape.head_dim,
                               blocks[token / kSlots]->data() + kLayerOffset + head * head_bytes,
                               static_cast<int>(token % kSlots));
        // What was stored is what the reference shall see.
        for (std::size_t d = 0; d < dim; ++d) {
          keys[at + d] = kernels::HalfToFloat(kernels::FloatToHalf(keys[at + d]));
          values[at + d] = kernels::HalfToFloat(kernels::FloatToHalf(values[at + d]));
        }
      }
    }
  }

  kernels::AttentionInput Input(int first, int rows) const {
    kernels::AttentionInput input;
    input.blocks = bases.data();
    input.layer_offset = kLayerOffset;
    input.head_stride = head_bytes;
    input.first_position = first;
    input.row_count = rows;
    input.query_stride = static_cast<std::size_t>(shape.head_count * shape.head_dim);
    input.queries = queries.data() + static_cast<std::size_t>(first) * input.query_stride;
    return input;
  }

  AttentionShape shape;
  int token_count;
  std::size_t head_bytes;
  std::vector<float> keys, values, queries;
  std::vector<std::unique_ptr<support::AlignedBytes>> blocks;
  std::vector<const std::byte*> bases;
};

// Output rows [first, first + rows) in one call.
std::vector<float> Attended(const Sequence& sequence, int first, int rows, int workers) {
  const AttentionShape& shape = sequence.shape;
  const auto width = static_cast<std::size_t>(shape.head_count * shape.head_dim);
  const support::AlignedBytes scratch(kernels::AttentionScratchFloats(shape, rows, first + rows) *
                                      sizeof(float));
  auto* floats = reinterpret_cast<float*>(scratch.data());
  std::vector<float> out(static_cast<std::size_t>(rows) * width);
  const kernels::AttentionInput input = sequence.Input(first, rows);
  kernels::Team team(workers);
  team.Run([&](kernels::Worker& worker) {
    kernels::AttentionPartials(shape, input, floats, worker);
    worker.Barrier();
    kernels::AttentionMerge(shape, input, floats, out.data(), width, worker);
  });
  return out;
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

std::vector<double> Reference(const Sequence& sequence, int row, int head) {
  const AttentionShape& shape = sequence.shape;
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  const auto kv_heads = static_cast<std::size_t>(shape.kv_head_count);
  const auto kv_head = static_cast<std::size_t>(head / (shape.head_count / shape.kv_head_count));
  const float* query =
      &sequence.queries[static_cast<std::size_t>(row * shape.head_count + head) * dim];
  std::vector<double> scores;
  for (std::size_t t = 0; t <= static_cast<std::size_t>(row); ++t) {
    double score = 0;
    for (std::size_t d = 0; d < dim; ++d) {
      score += double{query[d]} * double{sequence.keys[(t * kv_heads + kv_head) * dim + d]};
    }
    scores.push_back(score * double{shape.scale});
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  std::vector<double> out(dim);
  for (std::size_t t = 0; t < scores.size(); ++t) {
    const double weight = std::exp(scores[t] - largest);
    total += weight;
    for (std::size_t d = 0; d < dim; ++d) {
      out[d] += weight * double{sequence.values[(t * kv_heads + kv_head) * dim + d]};
    }
  }
  for (double& value : out) value /= total;
  return out;
}

// Heads with their own keys, grouped heads, a group of 7, head sizes that leave a rest of vectors.
const AttentionShape kShapes[] = {{2, 2, 16, 0.25F},
                                  {9, 3, 64, 0.125F},
                                  {7, 1, 48, 0.15F},
                                  {4, 2, 128, 0.09F},
                                  {5, 1, 80, 0.11F}};

TEST(Attention, IsAccurateOnBothSidesOfAChunksEdge) {
  for (const AttentionShape& shape : kShapes) {
    const Sequence sequence(shape, 530, 1);
    for (const int row : {0, 1, 15, 16, 63, 64, 255, 256, 257, 511, 512, 529}) {
      const std::vector<float> out = Attended(sequence, row, 1, 1);
      for (int head = 0; head < shape.head_count; ++head) {
        const std::vector<double> expected = Reference(sequence, row, head);
        for (std::size_t d = 0; d < expected.size(); ++d) {
          const auto at = static_cast<std::size_t>(head * shape.head_dim) + d;
          ASSERT_NEAR(double{out[at]}, expected[d], 2e-6)
              << "row " << row << ", head " << head << ", dim " << d;
        }
      }
    }
  }
}

// Goal: prefill in any pieces, and decode, give the same bits.
// Method: rows 240..299 (over the edge at 256) in one call, in pieces, and one by one.
TEST(Attention, ARowsResultDoesNotDependOnTheRowsBesideIt) {
  for (const AttentionShape& shape : kShapes) {
    const Sequence sequence(shape, 300, 2);
    const auto width = static_cast<std::size_t>(shape.head_count * shape.head_dim);
    const std::vector<float> together = Attended(sequence, 240, 60, 1);
    for (const int piece : {1, 2, 3, 7, 16, 33}) {
      for (int first = 240; first + piece <= 300; first += piece) {
        const std::vector<float> part = Attended(sequence, first, piece, 1);
        ASSERT_TRUE(SameBits(part, std::span(together).subspan(
                                       static_cast<std::size_t>(first - 240) * width, part.size())))
            << "rows " << first << " to " << first + piece;
      }
    }
  }
}

TEST(Attention, TheNumberOfWorkersDoesNotMatter) {
  const Sequence sequence(kShapes[1], 600, 3);
  const std::vector<float> one = Attended(sequence, 500, 100, 1);
  EXPECT_TRUE(SameBits(Attended(sequence, 500, 100, 2), one));
  EXPECT_TRUE(SameBits(Attended(sequence, 500, 100, 3), one));
}

// A row may not even multiply what later tokens hold by zero: it may be NaN or infinite.
TEST(Attention, LaterTokensDoNotTouchARow) {
  for (const AttentionShape& shape : kShapes) {
    const Sequence longer(shape, 320, 4);
    const std::vector<float> before = Attended(longer, 60, 10, 1);
    for (std::size_t token = 70; token < 320; ++token) {
      for (std::size_t head = 0; head < static_cast<std::size_t>(shape.kv_head_count); ++head) {
        const std::vector<float> infinite(static_cast<std::size_t>(shape.head_dim),
                                          token % 2 == 0 ? INFINITY : NAN);
        kernels::StoreKeyValue(
            infinite.data(), infinite.data(), shape.head_dim,
            longer.blocks[token / kSlots]->data() + kLayerOffset + head * longer.head_bytes,
            static_cast<int>(token % kSlots));
      }
    }
    EXPECT_TRUE(SameBits(Attended(longer, 60, 10, 1), before));
  }
}

// Scores that differ by more than float's exponent range: the largest takes all.
TEST(Attention, HugeScoresGiveTheValueOfTheBestToken) {
  Sequence sequence({1, 1, 16, 1.0F}, 300, 5);
  for (float& query : sequence.queries) query *= 1000.0F;
  for (const int row : {20, 299}) {
    const std::vector<float> out = Attended(sequence, row, 1, 1);
    const std::vector<double> expected = Reference(sequence, row, 0);
    for (std::size_t d = 0; d < 16; ++d) EXPECT_NEAR(double{out[d]}, expected[d], 1e-3);
  }
}

// Goal: all instruction sets give the bits of the scalar kernels.
TEST(Attention, EqualsTheScalarKernelBitForBit) {
  const kernels::LeafTable& scalar = *kernels::LeavesFor("scalar");
  for (const AttentionShape& shape : kShapes) {
    const Sequence sequence(shape, 256, 6);
    const int group = shape.head_count / shape.kv_head_count;
    for (const int rows : {1, 2, 3, 5, 9, 20}) {
      for (const int first_visible : {-3, 0, 1, 16, 60, 236}) {
        kernels::AttentionJob job{};
        for (int b = 0; b < 4; ++b) {
          job.heads[b] =
              reinterpret_cast<const std::uint8_t*>(sequence.bases[static_cast<std::size_t>(b)]) +
              kLayerOffset;
          job.next[b] = job.heads[b];
        }
        job.head_dim = shape.head_dim;
        job.scale = shape.scale;
        job.queries = sequence.queries.data();
        job.query_stride = static_cast<std::size_t>(shape.head_count * shape.head_dim);
        job.group = group;
        job.row_count = rows;
        job.first_visible = first_visible;
        const auto items = static_cast<std::size_t>(rows * group);
        const auto dim = static_cast<std::size_t>(shape.head_dim);
        std::vector<float> got(items * (dim + 2), 1.0F);
        std::vector<float> expected = got;
        const auto run = [&](const kernels::LeafTable& leaves, std::vector<float>& out) {
          job.sums = out.data();
          job.maxima = job.sums + items * dim;
          job.totals = job.maxima + items;
          leaves.attention_chunk(job);
        };
        run(kernels::Leaves(), got);
        run(scalar, expected);
        ASSERT_TRUE(SameBits(got, expected)) << rows << " rows, first sees " << first_visible;
      }
    }
  }
}

TEST(AttentionMerge, EqualsTheScalarKernelBitForBit) {
  std::mt19937 random(9);
  for (const int chunks : {1, 2, 5}) {
    const auto count = static_cast<std::size_t>(chunks);
    const std::vector<float> sums = support::RandomFloats(count * 64, random);
    const std::vector<float> maxima = support::RandomFloats(count, random);
    std::vector<float> totals = support::RandomFloats(count, random);
    for (float& total : totals) total = std::abs(total) + 1.0F;
    std::vector<float> got(64), expected(64);
    kernels::MergeJob job{chunks, 64, sums.data(), 64, maxima.data(), totals.data(), 1, got.data()};
    kernels::Leaves().attention_merge(job);
    job.out = expected.data();
    kernels::LeavesFor("scalar")->attention_merge(job);
    EXPECT_TRUE(SameBits(got, expected));
  }
}

TEST(StoreKeyValue, EqualsTheScalarKernelBitForBit) {
  std::mt19937 random(10);
  std::vector<float> key = support::RandomFloats(64, random);
  const float odd[] = {0.0F, -0.0F, 1e-8F, 6e-8F, 6.1e-5F, 65504.0F, 65520.0F, -INFINITY};
  std::copy(std::begin(odd), std::end(odd), key.begin());
  std::vector<std::uint16_t> got(2 * 64 * kSlots), expected = got;
  kernels::StoreKeyValue(key.data(), key.data(), 64, reinterpret_cast<std::byte*>(got.data()), 11);
  kernels::LeavesFor("scalar")->store_key_value(key.data(), key.data(), 64, expected.data(),
                                                expected.data() + 64 * kSlots, 11);
  EXPECT_EQ(got, expected);
}

}  // namespace
