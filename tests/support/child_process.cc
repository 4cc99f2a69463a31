#include "tests/support/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace support {

ChildProcess::ChildProcess(const std::vector<std::string>& arguments,
                           const Environment& environment, const std::string& output_file)
    : output_file_(output_file) {
  std::vector<char*> words;
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  id_ = fork();
  if (id_ < 0) throw std::runtime_error("fork");
  if (id_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int file = open(output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  execv(words[0], words.data());
  _exit(127);
}

ChildProcess::~ChildProcess() {
  if (Wait(0)) return;
  Signal(SIGKILL);
  Wait(10);
}

void ChildProcess::Signal(int signal) const {
  if (!result_) kill(id_, signal);
}

std::optional<int> ChildProcess::Wait(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!result_) {
    int status = 0;
    if (waitpid(id_, &status, WNOHANG) == id_) {
      result_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (std::chrono::steady_clock::now() >= until) {
      break;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  return result_;
}

double ChildProcess::CpuSeconds() const {
  const std::string stat = FileText("/proc/" + std::to_string(id_) + "/stat");
  std::istringstream in(stat.substr(stat.rfind(')') + 2));  // the name may hold blanks
  std::string skipped;
  for (int i = 0; i < 11; ++i) in >> skipped;
  double user = 0;
  double system = 0;
  in >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

long ChildProcess::ResidentKib() const {
  std::istringstream in(FileText("/proc/" + std::to_string(id_) + "/statm"));
  long total = 0;
  long resident = 0;
  in >> total >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

std::string ChildProcess::Output() const { return FileText(output_file_); }

TestFolder::TestFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "inglenook-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error(pattern);
  path_ = pattern;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TestFolder::Write(const std::string& name, const std::string& text) const {
  const std::string path = path_ + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string FileText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace support
