#include "service/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

namespace service {
namespace {

constexpr int kBarWidth = 32;
constexpr std::chrono::milliseconds kRedrawInterval{100};
constexpr double kPlainStep = 0.25;

}  // namespace

ProgressBar::ProgressBar() : is_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() { Finish(); }

std::string ProgressBar::Line(std::string_view what, double fraction, double seconds_left) {
  const double bounded = std::clamp(fraction, 0.0, 1.0);
  const int filled = static_cast<int>(bounded * kBarWidth);
  std::string line(what);
  line += " [";
  line.append(static_cast<std::size_t>(filled), '#');
  line.append(static_cast<std::size_t>(kBarWidth - filled), '.');
  line += "] " + std::to_string(static_cast<int>(std::round(bounded * 100))) + " %";
  if (bounded > 0 && bounded < 1) {
    line += ", " + std::to_string(static_cast<int>(std::ceil(seconds_left))) + " s left";
  }
  return line;
}

void ProgressBar::Show(std::string_view what, double fraction) {
  const auto now = SteadyClock::now();
  if (what != what_) {
    Finish();
    what_ = what;
    begun_ = now;
    shown_fraction_ = -1;
  }
  const double elapsed = std::chrono::duration<double>(now - begun_).count();
  const double left = fraction > 0 ? elapsed * (1 - fraction) / fraction : 0;
  if (!is_terminal_) {
    if (fraction < 1 && fraction < shown_fraction_ + kPlainStep) return;
    if (shown_fraction_ >= 1) return;
    shown_fraction_ = fraction;
    std::cerr << what_ << ": " << static_cast<int>(std::round(fraction * 100)) << " %\n";
    return;
  }
  if (fraction < 1 && shown_fraction_ >= 0 && now - shown_ < kRedrawInterval) return;
  shown_ = now;
  shown_fraction_ = fraction;
  is_open_ = true;
  // Back to the first column, and away with what is left of a longer line.
  std::cerr << '\r' << Line(what_, fraction, left) << "\x1b[K" << std::flush;
}

void ProgressBar::Finish() {
  if (is_open_) std::cerr << '\n';
  is_open_ = false;
  what_.clear();
}

}  // namespace service
