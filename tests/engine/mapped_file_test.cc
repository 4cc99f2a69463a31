// Goal: whatever stands where the model file should be gets a sentence, never a wait or a signal.
#include "engine/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace {

using engine::MappedFile;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class MappedFileTest : public testing::Test {
 protected:
  MappedFileTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("inglenook_mapped_file_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~MappedFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Written(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
    return Path(name);
  }
  static std::string ErrorOf(const std::string& path) {
    const auto file = MappedFile::Open(path);
    return file ? std::string() : file.error();
  }

 private:
  std::filesystem::path folder_;
};

std::string Text(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_F(MappedFileTest, HoldsTheBytesOfTheFile) {
  const std::string text(10'000, 'x');
  const auto file = MappedFile::Open(Written("model.gguf", text + "end"));
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(Text(*file), text + "end");
}

TEST_F(MappedFileTest, KeepsItsBytesWhenTheFileIsCutOrRewritten) {
  const std::string path = Written("model.gguf", std::string(1 << 20, 'x'));
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file) << file.error();
  std::filesystem::resize_file(path, 0);  // with a mapping, the next line would be a SIGBUS
  EXPECT_EQ(Text(*file), std::string(1 << 20, 'x'));
}

TEST_F(MappedFileTest, MovesItsBytes) {
  auto first = MappedFile::Open(Written("first", "one"));
  auto second = MappedFile::Open(Written("second", "two"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  MappedFile moved(std::move(*first));
  EXPECT_EQ(Text(moved), "one");
  EXPECT_TRUE(first->bytes().empty());
  moved = std::move(*second);
  EXPECT_EQ(Text(moved), "two");
}

TEST_F(MappedFileTest, SaysWhatStandsThereInstead) {
  EXPECT_THAT(ErrorOf(Path("absent.gguf")),
              AllOf(HasSubstr("absent.gguf"), HasSubstr("there is no such file")));
  EXPECT_THAT(ErrorOf(Path("")), HasSubstr("this is a folder"));
  EXPECT_THAT(ErrorOf(Written("empty.gguf", "")), HasSubstr("the file is empty"));
  EXPECT_THAT(ErrorOf("/dev/null"), HasSubstr("no regular file"));
  EXPECT_THAT(ErrorOf(Written("a", "x") + "/model.gguf"), HasSubstr("there is no such file"));
}

TEST_F(MappedFileTest, DoesNotWaitForAPipe) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf(Path("pipe")), HasSubstr("a pipe"));
}

TEST_F(MappedFileTest, SaysThatItMayNotReadTheFile) {
  const std::string path = Written("secret.gguf", "x");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  // Root may read everything; then there is nothing to refuse.
  if (::access(path.c_str(), R_OK) == 0) {
    EXPECT_EQ(ErrorOf(path), "");
  } else {
    EXPECT_THAT(ErrorOf(path), HasSubstr("no permission"));
  }
}

TEST_F(MappedFileTest, AFileLargerThanTheMemoryIsRefusedBeforeItIsRead) {
  const std::string path = Written("sparse.gguf", "x");
  ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 43), 0);  // 8 TiB, no blocks
  EXPECT_THAT(ErrorOf(path), AllOf(HasSubstr("8796093022208 bytes"), HasSubstr("memory")));
}

TEST_F(MappedFileTest, APathOfAnyBytesIsShownEscaped) {
  EXPECT_THAT(ErrorOf(Path("\xff\x1b[2J")),
              AllOf(HasSubstr("\\xff\\x1b[2J"), Not(HasSubstr("\x1b"))));
  // Not the file whose name is what comes before the zero byte.
  EXPECT_THAT(ErrorOf(Written("a", "x") + std::string("\0b", 2)), HasSubstr("a\\x00b"));
}

}  // namespace
