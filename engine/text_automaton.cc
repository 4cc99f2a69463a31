#include "engine/text_automaton.h"

#include <cstdint>
#include <string_view>

namespace engine {
namespace {

bool IsIn(std::uint8_t byte, int first, int last) { return byte >= first && byte <= last; }

TextState StepFirstByte(std::uint8_t byte) {
  if (IsIn(byte, 0x20, 0x7E)) return TextState::kBoundary;
  if (byte == 0xC2) return TextState::kAfterC2;
  if (IsIn(byte, 0xC3, 0xDF)) return TextState::kOneMore;
  if (byte == 0xE0) return TextState::kAfterE0;
  if (byte == 0xE2) return TextState::kAfterE2;
  if (byte == 0xED) return TextState::kAfterED;
  if (IsIn(byte, 0xE1, 0xEF)) return TextState::kTwoMore;
  if (byte == 0xF0) return TextState::kAfterF0;
  if (IsIn(byte, 0xF1, 0xF3)) return TextState::kThreeMore;
  if (byte == 0xF4) return TextState::kAfterF4;
  return TextState::kDead;
}

TextState StepContinuation(TextState state, std::uint8_t byte) {
  switch (state) {
    case TextState::kOneMore:
      return TextState::kBoundary;
    case TextState::kTwoMore:
      return TextState::kOneMore;
    case TextState::kThreeMore:
      return TextState::kTwoMore;
    case TextState::kAfterC2:
      return byte >= 0xA0 ? TextState::kBoundary : TextState::kDead;
    case TextState::kAfterE0:
      return byte >= 0xA0 ? TextState::kOneMore : TextState::kDead;
    case TextState::kAfterE2:
      if (byte == 0x80) return TextState::kAfterE280;
      return byte == 0x81 ? TextState::kAfterE281 : TextState::kOneMore;
    case TextState::kAfterE280:
      return IsIn(byte, 0xA8, 0xAE) ? TextState::kDead : TextState::kBoundary;
    case TextState::kAfterE281:
      return IsIn(byte, 0xA6, 0xA9) ? TextState::kDead : TextState::kBoundary;
    case TextState::kAfterED:
      return byte <= 0x9F ? TextState::kOneMore : TextState::kDead;
    case TextState::kAfterF0:
      return byte >= 0x90 ? TextState::kTwoMore : TextState::kDead;
    case TextState::kAfterF4:
      return byte <= 0x8F ? TextState::kTwoMore : TextState::kDead;
    case TextState::kDead:
    case TextState::kFirst:
    case TextState::kBoundary:
      break;
  }
  return TextState::kDead;
}

}  // namespace

TextState StepText(TextState state, std::uint8_t byte) {
  if (state == TextState::kDead) return TextState::kDead;
  if (state == TextState::kBoundary) return StepFirstByte(byte);
  if (state == TextState::kFirst) return byte == ' ' ? TextState::kDead : StepFirstByte(byte);
  return IsIn(byte, 0x80, 0xBF) ? StepContinuation(state, byte) : TextState::kDead;
}

TextState StepText(TextState state, std::string_view bytes) {
  for (const char byte : bytes) state = StepText(state, static_cast<std::uint8_t>(byte));
  return state;
}

int BytesToBoundary(TextState state) {
  switch (state) {
    case TextState::kDead:
    case TextState::kFirst:
    case TextState::kBoundary:
      return 0;
    case TextState::kOneMore:
    case TextState::kAfterC2:
    case TextState::kAfterE280:
    case TextState::kAfterE281:
      return 1;
    case TextState::kTwoMore:
    case TextState::kAfterE0:
    case TextState::kAfterE2:
    case TextState::kAfterED:
      return 2;
    case TextState::kThreeMore:
    case TextState::kAfterF0:
    case TextState::kAfterF4:
      return 3;
  }
  return 0;
}

bool IsPrintableLine(std::string_view text) {
  return StepText(TextState::kBoundary, text) == TextState::kBoundary;
}

}  // namespace engine
