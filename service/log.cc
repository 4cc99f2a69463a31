#include "service/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <system_error>

namespace service {
namespace {

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("inglenook",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("time=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *logger;
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

bool NeedsQuotes(std::string_view value) {
  if (value.empty()) return true;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '"' || c == '=' || c == '\\') return true;
  }
  return false;
}

std::string Escaped(std::string_view value) {
  if (!NeedsQuotes(value)) return std::string(value);
  std::string out = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kDigits[] = "0123456789abcdef";
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

std::string Pair(std::string_view key, std::string_view value) {
  std::string out(key);
  out += '=';
  out += value;
  return out;
}

std::string Decimal(double value) {
  char digits[64];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, 1);
  return end.ec == std::errc() ? std::string(digits, end.ptr) : std::string("?");
}

}  // namespace

LogField::LogField(std::string_view key, std::string_view value)
    : text(Pair(key, Escaped(value))) {}
LogField::LogField(std::string_view key, std::int64_t value)
    : text(Pair(key, std::to_string(value))) {}
LogField::LogField(std::string_view key, std::uint64_t value)
    : text(Pair(key, std::to_string(value))) {}
LogField::LogField(std::string_view key, double value) : text(Pair(key, Decimal(value))) {}
LogField::LogField(std::string_view key, bool value) : text(Pair(key, value ? "true" : "false")) {}

std::string FormatEvent(std::string_view event, std::initializer_list<LogField> fields) {
  std::string line = Pair("event", Escaped(event));
  for (const LogField& field : fields) {
    line += ' ';
    line += field.text;
  }
  return line;
}

void LogEvent(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  spdlog::logger& logger = Logger();
  if (!logger.should_log(SpdlogLevel(level))) return;
  logger.log(SpdlogLevel(level), spdlog::string_view_t(FormatEvent(event, fields)));
}

void SetLogLevel(LogLevel level) { Logger().set_level(SpdlogLevel(level)); }

}  // namespace service
