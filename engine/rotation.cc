#include "engine/rotation.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace engine {
namespace {

constexpr double kLn2 = 0.6931471805599453094;
constexpr double kPi = 3.1415926535897932385;

// ln(x) for x > 0: x = m * 2^e with m in [0.75, 1.5), then the series of atanh.
double Log(double x) {
  assert(x > 0);
  int exponent = 0;
  while (x >= 1.5) {
    x /= 2;
    ++exponent;
  }
  while (x < 0.75) {
    x *= 2;
    --exponent;
  }
  const double t = (x - 1) / (x + 1);
  const double square = t * t;
  double sum = 0;
  for (int k = 41; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * t * sum + exponent * kLn2;
}

// e^x: x = n ln 2 + r, then the Taylor series of r.
double Exp(double x) {
  const int n = static_cast<int>(x / kLn2 + (x < 0 ? -0.5 : 0.5));
  const double r = x - n * kLn2;
  double sum = 1;
  for (int k = 22; k >= 1; --k) sum = 1 + sum * r / k;
  for (int i = 0; i < n; ++i) sum *= 2;
  for (int i = 0; i > n; --i) sum /= 2;
  return sum;
}

// The pair index at which YaRN's ramp begins or ends: where `turns` full turns fit the context.
double YarnCorrection(const ModelConfig& config, double turns) {
  return config.rope_dims * Log(config.rope_original_context / (turns * 2 * kPi)) /
         (2 * Log(config.rope_base));
}

int Floor(double x) {
  const int n = static_cast<int>(x);
  return n > x ? n - 1 : n;
}

// How much of the original (extrapolated) angle pair `index` keeps under YaRN, 0..1.
double YarnRamp(const ModelConfig& config, int index) {
  const int last = config.rope_dims - 1;
  const double low = std::clamp(Floor(YarnCorrection(config, 32)), 0, last);
  const double high = std::clamp(-Floor(-YarnCorrection(config, 1)), 0, last);
  const double position = (index - low) / std::max(0.001, high - low);
  return 1 - std::clamp(position, 0.0, 1.0);
}

}  // namespace

Rotation RotationOf(const ModelConfig& config, std::span<const float> factors) {
  const int pairs = config.rope_dims / 2;
  assert(factors.empty() || factors.size() == static_cast<std::size_t>(pairs));
  Rotation rotation;
  rotation.frequencies.reserve(static_cast<std::size_t>(pairs));
  const double log_base = Log(config.rope_base);
  for (int i = 0; i < pairs; ++i) {
    double frequency = Exp(-2.0 * i / config.rope_dims * log_base);
    if (!factors.empty()) frequency /= factors[static_cast<std::size_t>(i)];
    switch (config.rope_scaling) {
      case ModelConfig::RopeScaling::kNone:
        break;
      case ModelConfig::RopeScaling::kLinear:
        frequency /= config.rope_factor;
        break;
      case ModelConfig::RopeScaling::kYarn: {
        const double keep = YarnRamp(config, i);
        frequency = frequency / config.rope_factor * (1 - keep) + frequency * keep;
        break;
      }
    }
    rotation.frequencies.push_back(frequency);
  }
  rotation.magnitude = config.rope_attention_factor;
  if (config.rope_scaling == ModelConfig::RopeScaling::kYarn) {
    rotation.magnitude *= static_cast<float>(1 + 0.1 * Log(config.rope_factor));
  }
  return rotation;
}

}  // namespace engine
