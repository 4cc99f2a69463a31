// Progress of long work for a person: a bar on a terminal, some plain lines otherwise.
//
// Thread: one.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace service {

class ProgressBar {
 public:
  // On standard error.
  ProgressBar();
  explicit ProgressBar(bool is_terminal) : is_terminal_(is_terminal) {}
  ~ProgressBar();  // leaves the line tidy

  // `what` names the work; a new name begins a new bar.
  void Show(std::string_view what, double fraction);
  // Ends the line, so that other text can follow.
  void Finish();

  // How a bar looks; for tests.
  static std::string Line(std::string_view what, double fraction, double seconds_left);

 private:
  using SteadyClock = std::chrono::steady_clock;

  bool is_terminal_ = false;
  std::string what_;
  SteadyClock::time_point begun_;
  SteadyClock::time_point shown_;
  double shown_fraction_ = -1;
  bool is_open_ = false;
};

}  // namespace service
