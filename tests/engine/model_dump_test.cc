// Goal: `inglenook model dump` shows what is in a file and can't be steered by it.
#include "engine/model_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/tiny_model.h"

namespace {

using support::GgufWriter;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string Dump(const GgufWriter& writer) {
  const auto bytes = writer.Bytes();
  const auto file = engine::GgufFile::Parse(bytes, "a.gguf");
  EXPECT_TRUE(file) << file.error();
  return file ? engine::DescribeModelFile(*file) : std::string();
}

TEST(ModelDump, ShowsMetadataAndTensors) {
  support::TinyModelOptions options;
  options.matrix_type = engine::TensorType::kQ4_1;
  const std::string text = Dump(support::TinyModel(options));
  EXPECT_THAT(text, HasSubstr("a.gguf\nGGUF version 3, "));
  EXPECT_THAT(text, HasSubstr("\n  general.architecture  string  'llama'\n"));
  EXPECT_THAT(text, HasSubstr("\n  llama.block_count  u32  1\n"));
  EXPECT_THAT(text, HasSubstr("\n  llama.rope.freq_base  f32  10000\n"));
  EXPECT_THAT(text, HasSubstr("11 tensors (3 x F32, 8 x Q4_1)\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\n  token_embd.weight +\\[32, 8\\] +Q4_1 +at [0-9]+, "
                                           "160 bytes\n"));
  EXPECT_EQ(text.back(), '\n');
}

TEST(ModelDump, ShortensLongValues) {
  GgufWriter writer;
  writer.Set("a.text", std::string(5'000, 'x'));
  writer.Set("a.ints", std::vector<std::int32_t>(1'000, 7));
  writer.Set("a.none", std::vector<float>{});
  writer.Set("a.flags", std::vector<bool>{true, false});
  writer.Set("a.words", std::vector<std::string>{"one", "two"});
  const std::string text = Dump(writer);
  EXPECT_LT(text.size(), 600u);
  EXPECT_THAT(text, HasSubstr("a.ints  i32[1000]  [7, 7, 7, 7, 7, 7, ...]"));
  EXPECT_THAT(text, HasSubstr("a.none  f32[0]  []"));
  EXPECT_THAT(text, HasSubstr("a.flags  bool[2]  [true, false]"));
  EXPECT_THAT(text, HasSubstr("a.words  string[2]  ['one', 'two']"));
}

TEST(ModelDump, ShowsNumbersAtTheEdges) {
  GgufWriter writer;
  writer.Set("a.least", std::numeric_limits<std::int64_t>::min());
  writer.Set("a.most", std::numeric_limits<std::uint64_t>::max());
  writer.Set("a.nan", std::numeric_limits<float>::quiet_NaN());
  writer.Set("a.wide", 1e300);
  writer.Set("a.wides", std::vector<double>{1e300});
  writer.Set("a.mosts", std::vector<std::uint64_t>{std::numeric_limits<std::uint64_t>::max()});
  const std::string text = Dump(writer);
  EXPECT_THAT(text, HasSubstr("a.least  i64  -9223372036854775808\n"));
  EXPECT_THAT(text, HasSubstr("a.most  u64  18446744073709551615\n"));
  EXPECT_THAT(text, HasSubstr("a.nan  f32  nan\n"));
  EXPECT_THAT(text, HasSubstr("a.wide  f64  out of f32's range\n"));
  EXPECT_THAT(text, HasSubstr("a.wides  f64[1]  [...]\n"));
  EXPECT_THAT(text, HasSubstr("a.mosts  u64[1]  [...]\n"));
}

TEST(ModelDump, EscapesWhatWouldSteerATerminal) {
  GgufWriter writer;
  writer.Set("a.text", std::string("red \x1b[31m\nnew line \xe2\x80\xae turned \xff it's \\"));
  const std::string text = Dump(writer);
  EXPECT_THAT(
      text, HasSubstr("'red \\x1b[31m\\x0anew line \\xe2\\x80\\xae turned \\xff it\\x27s \\x5c'"));
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c < 127); }));
}

}  // namespace
