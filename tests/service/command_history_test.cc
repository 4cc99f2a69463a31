#include "service/command_history.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "tests/support/child_process.h"

namespace {

using service::CommandHistory;
using Seen = service::CommandHistory::Seen;

constexpr std::int64_t kNow = 1'700'000'000'000;
constexpr std::int64_t kTenMinutes = 600'000;

TEST(CommandHistory, RemembersRunningAndAnsweredCommandsForTenMinutes) {
  CommandHistory history("", kNow);
  EXPECT_EQ(history.Look("a", "1", kNow), Seen::kNew);
  history.NoteBegin("a", "1", kNow);
  EXPECT_EQ(history.Look("a", "1", kNow), Seen::kRunning);
  EXPECT_EQ(history.Look("b", "1", kNow), Seen::kNew);
  history.NoteEnd("a", "1", "the end");
  EXPECT_EQ(history.Look("a", "1", kNow + kTenMinutes), Seen::kAnswered);
  EXPECT_EQ(history.LastEvent("a", "1"), "the end");
  EXPECT_EQ(history.Look("a", "1", kNow + kTenMinutes + 1), Seen::kNew);
  history.NoteBegin("a", "1", kNow + kTenMinutes + 1);
  EXPECT_EQ(history.Look("a", "1", kNow + kTenMinutes + 1), Seen::kRunning);
}

TEST(CommandHistory, KeepsTheLast1024) {
  CommandHistory history("", kNow);
  for (std::size_t i = 0; i <= CommandHistory::kEntriesMax; ++i) {
    history.NoteBegin("a", std::to_string(i), kNow);
    history.NoteEnd("a", std::to_string(i), "end " + std::to_string(i));
  }
  EXPECT_EQ(history.Look("a", "0", kNow), Seen::kNew);
  EXPECT_EQ(history.Look("a", "1", kNow), Seen::kAnswered);
  EXPECT_EQ(history.LastEvent("a", "1024"), "end 1024");
}

TEST(CommandHistory, ARestartForgetsNoCommandThatActed) {
  const support::TestFolder folder;
  const std::string file = folder.path() + "/acted";
  {
    CommandHistory history(file, kNow);
    history.NoteBegin("a", "1", kNow);
    history.NoteActing("a", "1", kNow);
    history.NoteBegin("a", "2", kNow);
  }
  struct stat status{};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  CommandHistory later(file, kNow + 1000);
  EXPECT_EQ(later.Look("a", "1", kNow + 1000), Seen::kActedBeforeRestart);
  EXPECT_EQ(later.Look("a", "2", kNow + 1000), Seen::kNew);
  CommandHistory much_later(file, kNow + kTenMinutes + 1);
  EXPECT_EQ(much_later.Look("a", "1", kNow + kTenMinutes + 1), Seen::kNew);
  EXPECT_EQ(support::FileText(file), "");
}

TEST(CommandHistory, DamagedLinesAreLeftOut) {
  const support::TestFolder folder;
  const std::string file = folder.path() + "/acted";
  {
    CommandHistory history(file, kNow);
    for (const char* id : {"1", "2", "3"}) history.NoteActing("a", id, kNow);
  }
  std::string text = support::FileText(file);
  text[text.find("a 2") + 2] = '9';
  text.resize(text.size() - 2);  // the last line is torn
  std::ofstream(file, std::ios::trunc) << text << "\n\xff garbage\n\n" << std::string(5000, 'x');
  const CommandHistory history(file, kNow);
  EXPECT_EQ(history.Look("a", "1", kNow), Seen::kActedBeforeRestart);
  for (const char* id : {"2", "9", "3"}) EXPECT_EQ(history.Look("a", id, kNow), Seen::kNew) << id;
}

TEST(CommandHistory, AFolderThatIsNotThereIsReported) {
  const CommandHistory history("/nowhere/acted", kNow);
  EXPECT_NE(history.file_trouble().find("/nowhere/acted"), std::string::npos);
}

}  // namespace
