// A program started by a test, and ended with it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace support {

class ChildProcess {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // Standard output and error go to output_file. Throws when it can't be started.
  ChildProcess(const std::vector<std::string>& arguments, const Environment& environment,
               const std::string& output_file);
  ~ChildProcess();  // kills it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t id() const { return id_; }
  void Signal(int signal) const;
  // Waits for its end. Returns: its result, 128 + signal, or nothing when it goes on running.
  std::optional<int> Wait(double seconds);

  double CpuSeconds() const;  // used so far, all its threads
  long ResidentKib() const;
  std::string Output() const;

 private:
  pid_t id_ = 0;
  std::string output_file_;
  std::optional<int> result_;
};

// A folder for one test, removed with it.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& text) const;  // its path

 private:
  std::string path_;
};

std::string FileText(const std::string& path);

}  // namespace support
