// Goal: what a file declares can't make the parser take memory that the file's size doesn't
// justify. Method: the global operator new counts bytes while hostile files are parsed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "engine/gguf_file.h"
#include "tests/support/tiny_model.h"

namespace {
std::size_t g_bytes = 0;
}  // namespace

void* operator new(std::size_t bytes) {
  g_bytes += bytes;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using support::ByteString;
using support::GgufWriter;

// All that Parse allocates, freed or not.
std::size_t BytesTaken(const std::vector<std::byte>& file) {
  const std::size_t before = g_bytes;
  const bool parsed = engine::GgufFile::Parse(file, "a.gguf").has_value();
  const std::size_t taken = g_bytes - before;
  EXPECT_TRUE(parsed || taken > 0);
  return taken;
}

void ExpectModest(const GgufWriter& writer) {
  const std::vector<std::byte> file = writer.Bytes();
  EXPECT_LE(BytesTaken(file), 10 * file.size() + 8'192);
}

TEST(GgufMemory, DeclaredCountsAreNotBelieved) {
  for (const std::uint64_t count :
       {std::uint64_t{1'000}, std::uint64_t{65'536}, std::uint64_t{1} << 28, ~std::uint64_t{0}}) {
    GgufWriter writer;
    writer.Set("a.key", 1);
    writer.metadata_count = count;
    ExpectModest(writer);
    writer.metadata_count.reset();
    writer.tensor_count = count;
    ExpectModest(writer);
    writer.tensor_count.reset();
    writer.entries[0].key_bytes = count;
    ExpectModest(writer);
    for (const std::uint32_t element : {0u, 8u, 12u}) {
      writer.SetRaw("a.array", 9, ByteString().U32(element).U64(count).U64(0).bytes());
      ExpectModest(writer);
    }
  }
}

TEST(GgufMemory, AModelTakesLessThanItsDirectory) {
  const std::vector<std::byte> file = support::TinyModel({.layer_count = 8}).Bytes();
  EXPECT_LE(BytesTaken(file), 64'000u);
}

TEST(GgufMemory, ManySmallEntriesTakeAFewBytesPerByte) {
  GgufWriter writer;
  for (int i = 0; i < 2'000; ++i) writer.entries.push_back({std::to_string(i), {}, 0, {{}}});
  for (int i = 0; i < 2'000; ++i) {
    writer.tensors.push_back({std::to_string(i), {}, {}, {8}, 0, {}, std::vector<std::byte>(32)});
  }
  ExpectModest(writer);
}

}  // namespace
