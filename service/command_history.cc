#include "service/command_history.h"

#include <fcntl.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

namespace service {
namespace {

// What most names and last events need; a longer one makes its entry larger once.
constexpr std::size_t kNameBytesUsual = 64;
constexpr std::size_t kEventBytesUsual = 768;
constexpr std::size_t kLineBytesMax = 512;

// FNV-1a: guards against torn lines, not against people.
std::uint64_t Digest(std::string_view bytes) {
  std::uint64_t digest = 0xcbf29ce484222325U;
  for (const char c : bytes) {
    digest ^= static_cast<unsigned char>(c);
    digest *= 0x100000001b3U;
  }
  return digest == 0 ? 1 : digest;
}

std::string NameOf(std::string_view client, std::string_view id) {
  std::string name(client);
  name += '\n';
  name += id;
  return name;
}

std::string Hex(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

// <digest of the rest> <unix ms> <client> <id>
std::string LineOf(std::int64_t unix_ms, std::string_view client, std::string_view id) {
  std::string rest = std::to_string(unix_ms);
  rest += ' ';
  rest += client;
  rest += ' ';
  rest += id;
  return Hex(Digest(rest)) + ' ' + rest + '\n';
}

std::string_view TakeWord(std::string_view& rest) {
  const std::size_t end = rest.find(' ');
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return word;
}

}  // namespace

CommandHistory::CommandHistory(std::string file, std::int64_t now_unix_ms)
    : entries_(kEntriesMax), file_(std::move(file)) {
  for (Entry& entry : entries_) {
    entry.name.assign(kNameBytesUsual, ' ');
    entry.name.clear();
    entry.last_event.assign(kEventBytesUsual, ' ');
    entry.last_event.clear();
  }
  if (file_.empty()) return;
  for (const Acted& acted : WriteFileAnew(now_unix_ms)) {
    if (Find(acted.client, acted.id) != nullptr) continue;
    Add(acted.client, acted.id, acted.unix_ms).seen = Seen::kActedBeforeRestart;
  }
}

CommandHistory::~CommandHistory() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::vector<CommandHistory::Acted> CommandHistory::WriteFileAnew(std::int64_t now_unix_ms) {
  std::vector<Acted> kept;
  std::string text;
  std::ifstream in(file_, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    const auto acted = ActedFrom(line);
    if (!acted || std::chrono::milliseconds(now_unix_ms - acted->unix_ms) > kKept) continue;
    kept.push_back(*acted);
    text += line + '\n';
  }
  if (descriptor_ >= 0) close(descriptor_);
  const std::string fresh = file_ + ".new";
  descriptor_ = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor_ < 0 || !AppendLine(text) || rename(fresh.c_str(), file_.c_str()) != 0) {
    file_trouble_ = file_ + " can't be written (" + std::strerror(errno) +
                    "): after a restart a command that is sent again would be done again.";
    // What the old file holds stays, and goes on if it can.
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  }
  appended_count_ = 0;
  return kept;
}

std::optional<CommandHistory::Acted> CommandHistory::ActedFrom(std::string_view line) {
  if (line.size() > kLineBytesMax) return std::nullopt;
  const std::string_view digest = TakeWord(line);
  if (digest != Hex(Digest(line))) return std::nullopt;
  const std::string_view time = TakeWord(line);
  Acted acted;
  const auto end = std::from_chars(time.data(), time.data() + time.size(), acted.unix_ms);
  if (end.ec != std::errc()) return std::nullopt;
  acted.client = TakeWord(line);
  acted.id = line;
  return acted;
}

bool CommandHistory::AppendLine(const std::string& line) {
  if (descriptor_ < 0) return false;
  ++appended_count_;
  if (write(descriptor_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
    return true;
  }
  file_trouble_ = file_ + " can't be written: " + std::strerror(errno) + ".";
  return false;
}

const CommandHistory::Entry* CommandHistory::Find(std::string_view client,
                                                  std::string_view id) const {
  const std::string name = NameOf(client, id);
  const std::uint64_t digest = Digest(name);
  for (const Entry& entry : entries_) {
    if (entry.digest == digest && entry.name == name) return &entry;
  }
  return nullptr;
}

CommandHistory::Entry* CommandHistory::Find(std::string_view client, std::string_view id) {
  return const_cast<Entry*>(std::as_const(*this).Find(client, id));
}

CommandHistory::Entry& CommandHistory::Add(std::string_view client, std::string_view id,
                                           std::int64_t now_unix_ms) {
  Entry& entry = entries_[next_];
  next_ = (next_ + 1) % entries_.size();
  entry.name.assign(client);
  entry.name += '\n';
  entry.name += id;
  entry.digest = Digest(entry.name);
  entry.begun_unix_ms = now_unix_ms;
  entry.last_event.clear();
  return entry;
}

CommandHistory::Seen CommandHistory::Look(std::string_view client, std::string_view id,
                                          std::int64_t now_unix_ms) const {
  const Entry* entry = Find(client, id);
  if (entry == nullptr) return Seen::kNew;
  const bool is_old = std::chrono::milliseconds(now_unix_ms - entry->begun_unix_ms) > kKept;
  return is_old && entry->seen != Seen::kRunning ? Seen::kNew : entry->seen;
}

const std::string& CommandHistory::LastEvent(std::string_view client, std::string_view id) const {
  const Entry* entry = Find(client, id);
  assert(entry != nullptr);
  assert(entry->seen == Seen::kAnswered);
  return entry->last_event;
}

void CommandHistory::NoteBegin(std::string_view client, std::string_view id,
                               std::int64_t now_unix_ms) {
  if (Entry* old = Find(client, id)) old->digest = 0;
  Add(client, id, now_unix_ms).seen = Seen::kRunning;
}

void CommandHistory::NoteActing(std::string_view client, std::string_view id,
                                std::int64_t now_unix_ms) {
  if (file_.empty()) return;
  (void)AppendLine(LineOf(now_unix_ms, client, id));  // file_trouble() says so
  if (appended_count_ >= 4 * kEntriesMax) WriteFileAnew(now_unix_ms);
}

void CommandHistory::NoteEnd(std::string_view client, std::string_view id,
                             std::string_view last_event) {
  Entry* entry = Find(client, id);
  if (entry == nullptr) return;  // so many came since that it was forgotten
  entry->seen = Seen::kAnswered;
  entry->last_event.assign(last_event);
}

}  // namespace service
