#include "service/cores.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace service {
namespace {

// Set by the first run: the cores that the program was given, in hexadecimal, the lowest first.
constexpr const char* kMarker = "INGLENOOK_CORES";
constexpr int kCoresPerDigit = 4;

// Where the OpenMP runtime has put the first thread.
cpu_set_t own_core;
bool knows_own_core = false;

std::string Written(const cpu_set_t& cores) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int core = 0; core < CPU_SETSIZE; core += kCoresPerDigit) {
    int digit = 0;
    for (int i = 0; i < kCoresPerDigit; ++i) digit |= CPU_ISSET(core + i, &cores) ? 1 << i : 0;
    text += kDigits[digit];
  }
  text.resize(text.find_last_not_of('0') + 1);
  return text;
}

cpu_set_t Read(const std::string& text) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (std::size_t i = 0; i < text.size() && i < CPU_SETSIZE / kCoresPerDigit; ++i) {
    const int digit = text[i] >= 'a' ? text[i] - 'a' + 10 : text[i] - '0';
    for (int bit = 0; bit < kCoresPerDigit; ++bit) {
      if ((digit >> bit & 1) != 0) CPU_SET(static_cast<int>(i) * kCoresPerDigit + bit, &cores);
    }
  }
  return cores;
}

}  // namespace

void StartWithTeamSettings(char** arguments) {
  if (std::getenv(kMarker) != nullptr) return;
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  setenv(kMarker, Written(cores).c_str(), 1);
  setenv("OMP_PROC_BIND", "true", 0);
  setenv("OMP_PLACES", "cores", 0);
  setenv("OMP_WAIT_POLICY", "passive", 0);  // a parked team uses no CPU
  setenv("OMP_DYNAMIC", "false", 0);
  setenv("GOMP_SPINCOUNT", "0", 0);
  execv("/proc/self/exe", arguments);
}

void UseAllCores() {
  const char* given = std::getenv(kMarker);
  if (given == nullptr) return;
  knows_own_core = sched_getaffinity(0, sizeof own_core, &own_core) == 0;
  const cpu_set_t all = Read(given);
  sched_setaffinity(0, sizeof all, &all);
}

void UseOwnCore() {
  if (knows_own_core) sched_setaffinity(0, sizeof own_core, &own_core);
}

}  // namespace service
