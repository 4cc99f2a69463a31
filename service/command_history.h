// Which commands came lately, so that none acts twice.
//
// The last kEntriesMax ids of the last kKept. A command that comes again while it runs is answered
// by the first one's events; later it gets the same last event again. Ids of commands that acted
// are also kept in a file, so that a restart forgets none of them; of those only the id is known,
// not the answer. The file holds no words. A line that is torn or changed is left out.
//
// Thread: the engine thread. Memory: allocated and touched when made; nothing grows.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace service {

class CommandHistory {
 public:
  static constexpr std::size_t kEntriesMax = 1024;
  static constexpr std::chrono::minutes kKept{10};

  enum class Seen { kNew, kRunning, kAnswered, kActedBeforeRestart };

  // file: empty for none. Reads what is still of use in it and writes it anew, mode 0600. A file
  // that can't be written is reported by file_trouble(), and the history goes on without.
  explicit CommandHistory(std::string file, std::int64_t now_unix_ms);
  ~CommandHistory();
  CommandHistory(const CommandHistory&) = delete;
  CommandHistory& operator=(const CommandHistory&) = delete;

  Seen Look(std::string_view client, std::string_view id, std::int64_t now_unix_ms) const;
  // The last event of a command. Requires: Look says kAnswered (asserted).
  const std::string& LastEvent(std::string_view client, std::string_view id) const;

  // Requires: Look says kNew.
  void NoteBegin(std::string_view client, std::string_view id, std::int64_t now_unix_ms);
  // To be called before the action leaves the house. Cost: one write, without waiting for the disk.
  void NoteActing(std::string_view client, std::string_view id, std::int64_t now_unix_ms);
  void NoteEnd(std::string_view client, std::string_view id, std::string_view last_event);

  const std::string& file_trouble() const { return file_trouble_; }

 private:
  struct Entry {
    std::uint64_t digest = 0;  // of client and id; 0: free
    std::int64_t begun_unix_ms = 0;
    Seen seen = Seen::kNew;
    std::string name;  // client, '\n', id
    std::string last_event;
  };
  const Entry* Find(std::string_view client, std::string_view id) const;
  Entry* Find(std::string_view client, std::string_view id);
  Entry& Add(std::string_view client, std::string_view id, std::int64_t now_unix_ms);
  // A line of the file.
  struct Acted {
    std::int64_t unix_ms = 0;
    std::string client;
    std::string id;
  };
  static std::optional<Acted> ActedFrom(std::string_view line);
  // Drops what is old or damaged. Returns: what was kept.
  std::vector<Acted> WriteFileAnew(std::int64_t now_unix_ms);
  bool AppendLine(const std::string& line);  // false: not written whole

  std::vector<Entry> entries_;  // a ring
  std::size_t next_ = 0;
  std::string file_;
  int descriptor_ = -1;
  std::size_t appended_count_ = 0;
  std::string file_trouble_;
};

}  // namespace service
