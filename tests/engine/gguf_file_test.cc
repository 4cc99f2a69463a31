// Goal: every lie that a file can tell is refused with a sentence that names file, subject and
// byte. Method: a valid tiny file, wrong in one place at a time. Sanitizers watch for reads past
// its end.
#include "engine/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/tiny_model.h"

namespace {

using engine::GgufFile;
using engine::TensorType;
using support::ByteString;
using support::GgufWriter;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
constexpr std::uint32_t kString = 8;
constexpr std::uint32_t kArray = 9;

// Parses a copy that ends where its allocation ends, so that a sanitizer sees one byte too many.
std::string ErrorOf(std::span<const std::byte> bytes) {
  const auto copy = std::make_unique<std::byte[]>(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  const auto file = GgufFile::Parse({copy.get(), bytes.size()}, "a.gguf");
  return file ? std::string() : file.error();
}

std::string ErrorOf(const GgufWriter& writer) { return ErrorOf(writer.Bytes()); }

// The bytes must outlive the file.
GgufFile ParseOrFail(const std::vector<std::byte>& bytes) {
  auto file = GgufFile::Parse(bytes, "a.gguf");
  if (!file) throw std::runtime_error(file.error());
  return std::move(*file);
}

// One tensor 't' with the given shape and no content of its own.
GgufWriter WithTensor(std::vector<std::uint64_t> dims, std::uint32_t type = 0,
                      std::size_t content_bytes = 128) {
  GgufWriter writer;
  writer.AddTensor("t", TensorType::kF32, std::move(dims), std::vector<std::byte>(content_bytes));
  writer.tensors.back().type = type;
  return writer;
}

GgufWriter WithValue(std::uint32_t type, const ByteString& value) {
  GgufWriter writer;
  writer.SetRaw("some.key", type, value.bytes());
  return writer;
}

TEST(GgufFile, GivesBackEveryKindOfValue) {
  GgufWriter writer;
  writer.Set("a.u8", std::uint8_t{200});
  writer.Set("a.i16", std::int16_t{-5});
  writer.Set("a.u64", kHuge);
  writer.Set("a.f32", 0.5F);
  writer.Set("a.f64", 0.25);
  writer.Set("a.bool", true);
  writer.Set("a.text", std::string("hearth"));
  writer.Set("a.texts", std::vector<std::string>{"x", "", "\xff\x00z"});
  writer.Set("a.ints", std::vector<std::int32_t>{-1, 2});
  writer.Set("a.floats", std::vector<float>{1.5F});
  writer.Set("a.none", std::vector<std::string>{});
  const auto bytes = writer.Bytes();
  const GgufFile file = ParseOrFail(bytes);
  EXPECT_EQ(**file.Uint("a.u8"), 200u);
  EXPECT_EQ(**file.Int("a.i16"), -5);
  EXPECT_EQ(**file.Uint("a.u64"), kHuge);
  EXPECT_EQ(**file.Float("a.f32"), 0.5F);
  EXPECT_EQ(**file.Float("a.f64"), 0.25F);
  EXPECT_TRUE(**file.Bool("a.bool"));
  EXPECT_EQ(**file.String("a.text"), "hearth");
  EXPECT_EQ((**file.Strings("a.texts")).size(), 3u);
  EXPECT_EQ((**file.Strings("a.texts"))[2], "\xff");
  EXPECT_EQ(**file.Ints("a.ints"), (std::vector<std::int64_t>{-1, 2}));
  EXPECT_EQ(**file.Floats("a.floats"), std::vector<float>{1.5F});
  EXPECT_TRUE((**file.Strings("a.none")).empty());
  EXPECT_FALSE((*file.Uint("absent")).has_value());
}

TEST(GgufFile, NamesKeyAndTypesWhenAValueHasAnother) {
  GgufWriter writer;
  writer.Set("a.text", std::string("x"));
  writer.Set("a.i32", -3);
  writer.Set("a.u64", kHuge);
  writer.Set("a.f64", 1e300);
  writer.Set("a.bytes", std::vector<std::uint8_t>{1, 2});
  const auto bytes = writer.Bytes();
  const GgufFile file = ParseOrFail(bytes);
  EXPECT_THAT(file.Uint("a.text").error(),
              AllOf(HasSubstr("a.gguf"), HasSubstr("'a.text' at byte"), HasSubstr("string")));
  EXPECT_THAT(file.Uint("a.i32").error(), HasSubstr("expected 0 or more"));
  EXPECT_THAT(file.Int("a.u64").error(), HasSubstr("less than 2^63"));
  EXPECT_THAT(file.Float("a.f64").error(), HasSubstr("fits f32"));
  EXPECT_THAT(file.Float("a.i32").error(), HasSubstr("expected f32"));
  EXPECT_THAT(file.Bool("a.i32").error(), HasSubstr("expected bool"));
  EXPECT_THAT(file.String("a.i32").error(), HasSubstr("expected string"));
  EXPECT_THAT(file.Strings("a.text").error(), HasSubstr("array of string"));
  // Scores or token types declared as bytes must not be read as wider numbers.
  EXPECT_THAT(file.Floats("a.bytes").error(), HasSubstr("has type an array of u8"));
}

TEST(GgufFile, EveryTruncationOfAValidFileIsRefused) {
  const std::vector<std::byte> whole = support::TinyModel().Bytes();
  ASSERT_EQ(ErrorOf(whole), "");
  const auto all = std::span<const std::byte>(whole);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string error = ErrorOf(all.first(length));
    ASSERT_THAT(error, AllOf(HasSubstr("a.gguf: "), HasSubstr(" at byte "))) << length;
  }
}

TEST(GgufFile, NoFlippedByteOfTheDirectoryCrashes) {
  std::vector<std::byte> bytes = support::TinyModel().Bytes();
  const std::size_t directory = std::min<std::size_t>(bytes.size(), 2048);
  for (std::size_t i = 0; i < directory; ++i) {
    for (const unsigned value : {0x00u, 0x01u, 0x7Fu, 0x80u, 0xFFu}) {
      const std::byte before = std::exchange(bytes[i], static_cast<std::byte>(value));
      const std::string error = ErrorOf(bytes);
      EXPECT_TRUE(error.empty() || error.starts_with("a.gguf: ")) << error;
      bytes[i] = before;
    }
  }
}

TEST(GgufFile, RefusesAnotherMagicVersionOrByteOrder) {
  GgufWriter writer;
  writer.magic = "GGML";
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("found 'GGML'"), HasSubstr("expected 'GGUF'")));
  writer.magic = "GGUF";
  for (const std::uint32_t version : {0u, 1u, 4u, 0xFFFFFFFFu}) {
    writer.version = version;
    EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("at byte 4"), HasSubstr("expected 2 or 3")));
  }
  writer.version = 0x03000000;
  EXPECT_THAT(ErrorOf(writer), HasSubstr("big-endian"));
  for (const std::uint32_t version : {2u, 3u}) {
    writer.version = version;
    EXPECT_EQ(ErrorOf(writer), "");  // no tensors at all: ModelConfig says what is missing
  }
}

TEST(GgufFile, RefusesCountsThatTheBytesCannotHold) {
  for (const std::uint64_t count : {std::uint64_t{1} << 32, std::uint64_t{1} << 61, kHalf, kHuge}) {
    GgufWriter writer = support::TinyModel();
    writer.tensor_count = count;
    EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("at byte 8"), HasSubstr(std::to_string(count)),
                                       HasSubstr("tensors are declared")));
    writer.tensor_count.reset();
    writer.metadata_count = count;
    EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("at byte 16"), HasSubstr(std::to_string(count)),
                                       HasSubstr("metadata entries are declared")));
  }
}

TEST(GgufFile, RefusesHostileKeys) {
  for (const std::uint64_t length : {std::uint64_t{65'536}, kHalf, kHuge}) {
    GgufWriter writer = WithValue(0, ByteString().U8(1));
    writer.entries.back().key_bytes = length;
    EXPECT_THAT(ErrorOf(writer),
                AllOf(HasSubstr("metadata entry 0 at byte 24"), HasSubstr(std::to_string(length))));
  }
  GgufWriter writer;
  writer.Set("", 1);
  EXPECT_THAT(ErrorOf(writer), HasSubstr("the key is empty"));
  writer.entries.back().key = "line\nbreak";
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("line\\x0abreak"), Not(HasSubstr("\n"))));
  writer.entries = {{"twin", {}, 0, {std::byte{1}}}, {"twin", {}, 0, {std::byte{1}}}};
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("key 'twin'"), HasSubstr("second value")));
}

TEST(GgufFile, RefusesHostileScalars) {
  for (const std::uint32_t type : {13u, 0xFFFFFFFFu}) {
    EXPECT_THAT(ErrorOf(WithValue(type, ByteString().U64(0).U64(0))),
                AllOf(HasSubstr("key 'some.key'"), HasSubstr("type " + std::to_string(type))));
  }
  EXPECT_THAT(ErrorOf(WithValue(7, ByteString().U8(2))), HasSubstr("found 2 as a boolean"));
  for (const std::uint64_t length : {std::uint64_t{6}, std::uint64_t{1} << 24, kHalf, kHuge}) {
    EXPECT_THAT(ErrorOf(WithValue(kString, ByteString().U64(length).Raw("short"))),
                AllOf(HasSubstr("key 'some.key'"), HasSubstr(std::to_string(length))));
  }
}

TEST(GgufFile, RefusesHostileArrays) {
  const std::pair<std::uint32_t, std::uint64_t> lies[] = {
      {10, std::uint64_t{1} << 61}, {0, kHalf}, {0, kHuge}, {kString, kHuge}, {12, kHalf}};
  for (const auto& [element, count] : lies) {
    EXPECT_THAT(ErrorOf(WithValue(kArray, ByteString().U32(element).U64(count).U64(0))),
                AllOf(HasSubstr("key 'some.key'"), HasSubstr(std::to_string(count)),
                      HasSubstr("array elements are declared")));
  }
  EXPECT_THAT(ErrorOf(WithValue(kArray, ByteString().U32(13).U64(1).U64(0))),
              HasSubstr("element type 13"));
  EXPECT_THAT(
      ErrorOf(WithValue(kArray, ByteString().U32(kString).U64(2).Text("fine").U64(999).Raw("cut"))),
      AllOf(HasSubstr("index 1"), HasSubstr("999")));
  ByteString nested;
  for (int depth = 0; depth < 100'000; ++depth) nested.U32(kArray).U64(1);
  EXPECT_THAT(ErrorOf(WithValue(kArray, nested)), HasSubstr("array of arrays"));
  EXPECT_THAT(ErrorOf(WithValue(kArray, ByteString().U32(7).U64(3).U8(1).U8(0).U8(9))),
              HasSubstr("found 9 as a boolean"));
}

TEST(GgufFile, AlignmentMustBeAPowerOfTwoThatIsStoredAsU32) {
  for (const std::uint32_t alignment : {0u, 1u, 3u, 4u, 13u, 24u, 1u << 17, 1u << 31}) {
    GgufWriter writer = WithTensor({8});
    writer.Set("general.alignment", alignment);
    EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("key 'general.alignment' at byte"),
                                       HasSubstr("found " + std::to_string(alignment))));
  }
  GgufWriter writer = WithTensor({8});
  writer.Set("general.alignment", 32);
  EXPECT_THAT(ErrorOf(writer), HasSubstr("type i32"));
  writer.Set("general.alignment", std::string("32"));
  EXPECT_THAT(ErrorOf(writer), HasSubstr("type string"));
  writer.Set("general.alignment", std::uint32_t{64});
  writer.alignment = 64;
  EXPECT_EQ(ErrorOf(writer), "");
}

TEST(GgufFile, RefusesHostileTensorNames) {
  for (const std::uint64_t length : {std::uint64_t{64}, std::uint64_t{65}, kHalf, kHuge}) {
    GgufWriter writer = WithTensor({8});
    writer.tensors.back().name_bytes = length;
    EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("tensor 0"), HasSubstr(std::to_string(length))));
  }
  GgufWriter writer = WithTensor({8});
  writer.AddTensor("t", TensorType::kF32, {8}, std::vector<std::byte>(32));
  EXPECT_THAT(ErrorOf(writer), HasSubstr("two tensors named 't'"));
  writer.tensors.back().name = std::string(63, 'n');
  EXPECT_EQ(ErrorOf(writer), "");
}

TEST(GgufFile, RefusesImpossibleShapes) {
  for (const std::uint32_t count : {0u, 5u, 0xFFFFFFFFu}) {
    GgufWriter writer = WithTensor({8});
    writer.tensors.back().dim_count = count;
    EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("tensor 't'"),
                                       HasSubstr("found " + std::to_string(count) + " dims")));
  }
  for (const std::vector<std::uint64_t>& dims :
       {std::vector<std::uint64_t>{0, 4}, {4, 0}, {kHalf}, {kHuge}}) {
    EXPECT_THAT(ErrorOf(WithTensor(dims)), HasSubstr("expected at least 1 and less than 2^63"));
  }
  const std::uint64_t k32 = std::uint64_t{1} << 32;
  // Products that wrap to 0, to a small number, and sizes that wrap; then one byte too many.
  for (const std::vector<std::uint64_t>& dims : {std::vector<std::uint64_t>{k32, k32},
                                                 {1u << 22, 1u << 22, 1u << 20},
                                                 {(std::uint64_t{1} << 62) - 1},
                                                 {k32, k32 / 2},
                                                 {k32 * 2, k32 / 2 + 1},
                                                 {std::uint64_t{1} << 62},
                                                 {3, 0x5555555555555556u},
                                                 {kHalf - 1, 2, 2, 2},
                                                 {33}}) {
    EXPECT_THAT(ErrorOf(WithTensor(dims)), AllOf(HasSubstr("tensor 't'"), HasSubstr("bytes")));
  }
  EXPECT_THAT(ErrorOf(WithTensor({32, std::uint64_t{1} << 60}, 2)), HasSubstr("needs"));
  EXPECT_THAT(ErrorOf(WithTensor({48}, 3)), AllOf(HasSubstr("Q4_1"), HasSubstr("multiple of 32")));
  EXPECT_EQ(ErrorOf(WithTensor({32})), "");
}

TEST(GgufFile, AcceptsSixTensorTypesAndRefusesAllOthersByName) {
  const std::pair<std::uint32_t, std::size_t> accepted[] = {{0, 128}, {1, 64}, {2, 18},
                                                            {3, 20},  {8, 34}, {30, 64}};
  for (const auto& [type, bytes] : accepted) {
    const auto file_bytes = WithTensor({32}, type, bytes).Bytes();
    const GgufFile file = ParseOrFail(file_bytes);
    EXPECT_EQ(file.tensors()[0].bytes, bytes);
    EXPECT_EQ(file.tensors()[0].content.size(), bytes);
  }
  const std::pair<std::uint32_t, const char*> refused[] = {
      {4, "Q4_2"},  {6, "Q5_0"},      {7, "Q5_1"},   {9, "Q8_1"},    {10, "Q2_K"},
      {12, "Q4_K"}, {13, "Q5_K"},     {14, "Q6_K"},  {20, "IQ4_NL"}, {24, "I8"},
      {28, "F64"},  {31, "Q4_0_4_4"}, {39, "MXFP4"}, {1000, "1000"}, {0xFFFFFFFFu, "4294967295"}};
  for (const auto& [type, name] : refused) {
    EXPECT_THAT(ErrorOf(WithTensor({256}, type, 1024)),
                AllOf(HasSubstr("a.gguf: tensor 't' at byte"), HasSubstr(name),
                      HasSubstr("use a file quantized as Q4_0, Q4_1 or Q8_0")));
  }
}

TEST(GgufFile, RefusesTensorsOutsideTheFileOrInsideEachOther) {
  GgufWriter writer = WithTensor({8}, 0, 32);
  for (const std::uint64_t offset : {std::uint64_t{32}, kHuge - 31, kHalf}) {
    writer.tensors.back().offset = offset;
    EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("tensor 't'"), HasSubstr(std::to_string(offset)),
                                       HasSubstr("past the file's")));
  }
  writer.tensors.back().offset = 7;
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("offset 7"), HasSubstr("multiple of 32")));
  writer.tensors.back().offset.reset();
  writer.AddTensor("u", TensorType::kF32, {16}, std::vector<std::byte>(64));
  writer.tensors.back().offset = 0;
  EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("overlaps"), HasSubstr("'t'"), HasSubstr("'u'")));
}

TEST(GgufFile, AcceptsGapsAndAnyOrderOfTensors) {
  GgufWriter writer;
  writer.AddTensor("second", TensorType::kF32, {8}, std::vector<std::byte>(32, std::byte{2}));
  writer.AddTensor("first", TensorType::kF32, {8}, std::vector<std::byte>(96, std::byte{1}));
  writer.tensors[0].offset = 96;
  writer.tensors[1].offset = 0;
  const auto bytes = writer.Bytes();
  const GgufFile file = ParseOrFail(bytes);
  EXPECT_EQ(file.FindTensor("first")->content[0], std::byte{2});
  EXPECT_EQ(file.FindTensor("second")->content[0], std::byte{1});
}

TEST(GgufFile, RefusesAPartOfASplitModel) {
  GgufWriter writer = WithTensor({8});
  writer.Set("split.count", std::uint16_t{1});
  EXPECT_EQ(ErrorOf(writer), "");
  for (const int count : {2, 65'535}) {
    writer.Set("split.count", static_cast<std::uint16_t>(count));
    EXPECT_THAT(ErrorOf(writer), AllOf(HasSubstr("key 'split.count' at byte"),
                                       HasSubstr(std::to_string(count) + " parts")));
  }
  writer.Set("split.count", std::string("2"));
  EXPECT_THAT(ErrorOf(writer), HasSubstr("expected a whole number"));
}

TEST(GgufFile, NamesTheFirstNumberThatIsNotFinite) {
  const std::pair<TensorType, std::vector<std::uint16_t>> scales[] = {
      {TensorType::kF16, {0x7C00}},
      {TensorType::kBF16, {0x7F80}},
      {TensorType::kQ8_0, {0xFE00}},
      {TensorType::kQ4_0, {0x7C01}},
      {TensorType::kQ4_1, {0x0000, 0xFC00}}};
  for (const auto& [type, halves] : scales) {
    const std::size_t bytes = 64 / static_cast<std::size_t>(engine::BlockElements(type)) *
                              static_cast<std::size_t>(engine::BlockBytes(type));
    GgufWriter writer = WithTensor({64}, static_cast<std::uint32_t>(type), bytes);
    {
      const auto clean = writer.Bytes();
      const GgufFile file = ParseOrFail(clean);
      EXPECT_TRUE(engine::CheckFinite(file, file.tensors()[0]));
    }
    std::byte* block = writer.tensors[0].content.data() + engine::BlockBytes(type);
    std::memcpy(block, halves.data(), halves.size() * sizeof(std::uint16_t));
    const auto damaged = writer.Bytes();
    const GgufFile file = ParseOrFail(damaged);
    EXPECT_THAT(engine::CheckFinite(file, file.tensors()[0]).error(),
                AllOf(HasSubstr("tensor 't'"), HasSubstr("block 1"), HasSubstr("not finite")));
  }
}

TEST(GgufFile, ANameFromOutsideCannotSteerATerminal) {
  const auto file = GgufFile::Parse({}, "evil\x1b[2J\n.gguf");
  EXPECT_THAT(file.error(), AllOf(HasSubstr("evil\\x1b[2J\\x0a.gguf"), Not(HasSubstr("\x1b"))));
}

}  // namespace
