// One line per event on standard error: event=... key=value ...
//
// Only service/ logs; lower layers return facts. A value with blanks, quotes, '=' or control
// characters is quoted and escaped, so one event is always one line. An utterance, an answer or
// anything else that a person said is logged at kDebug only.
//
// Thread: any.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace service {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// One key=value of an event. The value is copied.
struct LogField {
  LogField(std::string_view key, std::string_view value);
  LogField(std::string_view key, const char* value) : LogField(key, std::string_view(value)) {}
  LogField(std::string_view key, const std::string& value)
      : LogField(key, std::string_view(value)) {}
  LogField(std::string_view key, std::int64_t value);
  LogField(std::string_view key, std::uint64_t value);
  LogField(std::string_view key, int value) : LogField(key, std::int64_t{value}) {}
  LogField(std::string_view key, double value);
  LogField(std::string_view key, bool value);

  std::string text;  // key=value, escaped
};

void LogEvent(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});

// Events below `level` are not written. Default: kInfo.
void SetLogLevel(LogLevel level);

// How a line looks, without time and level; for tests.
std::string FormatEvent(std::string_view event, std::initializer_list<LogField> fields);

}  // namespace service
