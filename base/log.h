// Structured logging: one event, its fields, one line. A Log is passed to its users; there is no global one.
//
//   log.info("node patched", {{"node", name}, {"batch_cpu_milli", 7800}});
//   2026-01-02T03:04:05.678Z INFO manager node patched node=n1 batch_cpu_milli=7800
//
// Repeats of one message at warn or error are rate-limited a key (component + message): after kBurst lines in kWindow
// the rest is counted, and the next line of that key that passes says how many were dropped (repeats_dropped=12). Where
// none comes, the count goes out as a line of its own, with the first line of anything that is two windows later. Safe
// from any thread.
//
// One event is one line: control characters, line separators and bytes that are not UTF-8 come out escaped.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::base {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

// A field's value is turned into text at once; what is not a string is not quoted.
struct LogField {
  std::string_view key;
  std::string value;
  bool is_text = true;

  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  LogField(std::string_view k, const Error& error);
  template <class T>
    requires(std::is_arithmetic_v<T>)
  LogField(std::string_view k, T v) : key(k), value(cat(v)), is_text(false) {}
};

// The line that a Log makes of an event, for code without a Log.
std::string log_line(WallTime now, LogFormat format, LogLevel level, std::string_view component,
                     std::string_view message, std::initializer_list<LogField> fields = {});

class Log {
 public:
  static constexpr int kBurst = 10;                              // lines a key
  static constexpr Duration kWindow = std::chrono::seconds(30);  // and window

  static constexpr std::size_t kKeysMax = 1000;   // keys counted apart; past it the rest shares one
  static constexpr std::size_t kValueMax = 4096;  // bytes of a message or value; the rest is cut and its length given

  // `write` is called by one thread at a time and must not log itself. It gets whole lines with their newline; the
  // default writes to standard error and waits for it. What must never wait writes to a base::LineWriter.
  struct Options {
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kText;
    std::function<void(std::string_view line)> write;
  };
  Log(const Clock& clock, Options options);

  // The same sink under another component name.
  Log named(std::string_view component) const;

  void debug(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void info(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void warn(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void error(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  bool enabled(LogLevel level) const;

 private:
  struct Sink;
  Log(std::shared_ptr<Sink> sink, std::string component);
  void emit(LogLevel, std::string_view message, std::initializer_list<LogField> fields) const;
  std::shared_ptr<Sink> sink_;
  std::string component_;
};

}  // namespace tidemark::base
