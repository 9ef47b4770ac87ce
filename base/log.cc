#include "base/log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/text.h"
#include "base/utf8.h"

namespace tidemark::base {
namespace {

constexpr std::string_view kTextLevels[] = {"DEBUG", "INFO", "WARN", "ERROR"};
constexpr std::string_view kJsonLevels[] = {"debug", "info", "warn", "error"};
constexpr std::string_view kReservedKeys[] = {"time", "level", "component", "message", "repeats_dropped"};
constexpr std::string_view kHex = "0123456789abcdef";

void append_hex(std::string& out, unsigned value, int digits) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out.push_back(kHex[(value >> shift) & 0xf]);
}

// The code point of a well-formed character of `length` bytes.
unsigned code_point_of(const char* at, std::size_t length) {
  const unsigned lead = static_cast<unsigned char>(*at);
  unsigned code_point = length == 1 ? lead : lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) code_point = code_point << 6 | (static_cast<unsigned char>(at[i]) & 0x3f);
  return code_point;
}

// What would break a line in two, move a terminal's cursor, or hide in either.
bool is_control(unsigned code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) || code_point == 0x2028 || code_point == 0x2029;
}

enum class Escape { kText, kQuotedText, kJson };

// At most kValueMax bytes of `text`, with the length of the rest.
void append_escaped(std::string& out, std::string_view text, Escape how) {
  std::size_t at = 0;
  while (at < text.size() && at < Log::kValueMax) {
    const std::size_t length = utf8_length(text.data() + at, text.data() + text.size());
    if (length == 0) {
      if (how == Escape::kJson) {
        out += "\\ufffd";  // JSON has no way to carry the byte itself
      } else {
        out += "\\x";
        append_hex(out, static_cast<unsigned char>(text[at]), 2);
      }
      ++at;
      continue;
    }
    const unsigned code_point = code_point_of(text.data() + at, length);
    if (code_point == '\n') {
      out += "\\n";
    } else if (code_point == '\t') {
      out += "\\t";
    } else if (code_point == '\r') {
      out += "\\r";
    } else if (is_control(code_point)) {
      out += "\\u";
      append_hex(out, code_point, 4);
    } else if (how != Escape::kText && (code_point == '"' || code_point == '\\')) {
      out.push_back('\\');
      out.push_back(static_cast<char>(code_point));
    } else {
      out.append(text.substr(at, length));
    }
    at += length;
  }
  if (at < text.size()) out += cat("... (", text.size() - at, " bytes more)");
}

bool needs_quotes(std::string_view value) {
  if (value.empty() || value.size() > Log::kValueMax) return true;
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t length = utf8_length(value.data() + at, value.data() + value.size());
    if (length == 0) return true;
    const unsigned code_point = code_point_of(value.data() + at, length);
    if (is_control(code_point) || code_point == ' ' || code_point == '"' || code_point == '=' || code_point == '\\') {
      return true;
    }
    at += length;
  }
  return false;
}

// A field made from a number or bool, unless JSON has no such value (NaN, infinity, a lone char).
bool is_json_literal(const LogField& field) {
  return !field.is_text && (field.value == "true" || field.value == "false" || parse_int(field.value).has_value() ||
                            parse_uint(field.value).has_value() ||
                            (field.value.find_first_of("in") == std::string::npos && parse_double(field.value)));
}

std::string time_text(WallTime now) {
  std::string text = format_rfc3339_micro(now);
  text.resize(text.size() - 4);  // "…678901Z" to milliseconds
  text.push_back('Z');
  return text;
}

struct Event {
  LogLevel level;
  std::string_view component;
  std::string_view message;
  std::int64_t dropped = 0;
};

using Fields = std::initializer_list<LogField>;

std::string text_line(WallTime now, const Event& event, Fields fields) {
  std::string line = cat(time_text(now), ' ', kTextLevels[static_cast<int>(event.level)], ' ');
  if (!event.component.empty()) {
    append_escaped(line, event.component, Escape::kText);
    line.push_back(' ');
  }
  append_escaped(line, event.message, Escape::kText);
  for (const LogField& field : fields) {
    line.push_back(' ');
    for (const char c : field.key.substr(0, Log::kValueMax)) {
      line.push_back(c > ' ' && c < 0x7f && c != '=' && c != '"' ? c : '_');
    }
    line.push_back('=');
    if (needs_quotes(field.value)) {
      line.push_back('"');
      append_escaped(line, field.value, Escape::kQuotedText);
      line.push_back('"');
    } else {
      line += field.value;
    }
  }
  if (event.dropped > 0) line += cat(" repeats_dropped=", event.dropped);
  line.push_back('\n');
  return line;
}

std::string json_line(WallTime now, const Event& event, Fields fields) {
  std::string line;
  const auto text_member = [&](std::string_view key, std::string_view value) {
    line += line.empty() ? "{\"" : ",\"";
    append_escaped(line, key, Escape::kJson);
    line += "\":\"";
    append_escaped(line, value, Escape::kJson);
    line.push_back('"');
  };
  text_member("time", time_text(now));
  text_member("level", kJsonLevels[static_cast<int>(event.level)]);
  if (!event.component.empty()) text_member("component", event.component);
  text_member("message", event.message);
  for (const LogField& field : fields) {
    const bool reserved = std::ranges::find(kReservedKeys, field.key) != std::end(kReservedKeys);
    const std::string key = cat(reserved ? "field_" : "", field.key);
    if (is_json_literal(field)) {
      line += ",\"";
      append_escaped(line, key, Escape::kJson);
      line += cat("\":", field.value);
    } else {
      text_member(key, field.value);
    }
  }
  if (event.dropped > 0) line += cat(",\"repeats_dropped\":", event.dropped);
  line += "}\n";
  return line;
}

std::string line_of(LogFormat format, WallTime now, const Event& event, Fields fields) {
  return format == LogFormat::kJson ? json_line(now, event, fields) : text_line(now, event, fields);
}

void write_to_stderr(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nowhere left to say it
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

LogField::LogField(std::string_view k, const Error& error)
    : key(k), value(cat(to_string(error.kind), ": ", error.message)) {
  if (error.code != 0) value += cat(" (code ", error.code, ")");
}

std::string log_line(WallTime now, LogFormat format, LogLevel level, std::string_view component,
                     std::string_view message, Fields fields) {
  return line_of(format, now, Event{level, component, message}, fields);
}

struct Log::Sink {
  using Key = std::pair<std::string, std::string>;  // component, message
  struct Held {
    LogLevel level;
    RepeatGate gate;
  };

  Sink(const Clock& the_clock, Options the_options) : clock(the_clock), options(std::move(the_options)) {
    if (!options.write) options.write = write_to_stderr;
  }

  std::string line(WallTime now, const Event& event, Fields fields) const {
    return line_of(options.format, now, event, fields);
  }

  // Under the lock.
  RepeatGate::Verdict admit(const Event& event, MonotonicTime now) {
    Key key(event.component, event.message.substr(0, kValueMax));
    auto found = held.find(key);
    if (found == held.end()) {
      if (held.size() >= kKeysMax) key = Key("", "further messages");
      found = held.try_emplace(std::move(key), event.level, RepeatGate(kBurst, kWindow)).first;
    }
    return found->second.gate.admit(now);
  }

  // Under the lock: drops the keys whose window is over and reports their counts. At most once a window, and never
  // without a line to write: a silent program stays silent.
  void sweep(MonotonicTime now, WallTime wall) {
    if (now < sweep_at) return;
    sweep_at = now + kWindow;
    for (auto it = held.begin(); it != held.end();) {
      if (!it->second.gate.idle(now)) {
        ++it;
        continue;
      }
      if (it->second.gate.dropped() > 0) {
        const Event event{it->second.level, it->first.first, it->first.second, it->second.gate.dropped()};
        options.write(line(wall, event, {}));
      }
      it = held.erase(it);
    }
  }

  const Clock& clock;
  Options options;
  std::mutex mutex;
  std::map<Key, Held> held;
  MonotonicTime sweep_at{};
};

Log::Log(const Clock& clock, Options options) : sink_(std::make_shared<Sink>(clock, std::move(options))) {}
Log::Log(std::shared_ptr<Sink> sink, std::string component)
    : sink_(std::move(sink)), component_(std::move(component)) {}

Log Log::named(std::string_view component) const {
  return Log(sink_, std::string(component));
}

bool Log::enabled(LogLevel level) const {
  return level >= sink_->options.level;
}

void Log::emit(LogLevel level, std::string_view message, Fields fields) const {
  if (!enabled(level)) return;
  Event event{level, component_, message};
  const WallTime wall = sink_->clock.wall();
  const MonotonicTime now = sink_->clock.monotonic();
  if (level < LogLevel::kWarn) {
    const std::string line = sink_->line(wall, event, fields);
    const std::lock_guard lock(sink_->mutex);
    sink_->sweep(now, wall);
    sink_->options.write(line);
    return;
  }
  const std::lock_guard lock(sink_->mutex);
  const RepeatGate::Verdict verdict = sink_->admit(event, now);
  sink_->sweep(now, wall);
  if (!verdict.pass) return;
  event.dropped = verdict.dropped;
  sink_->options.write(sink_->line(wall, event, fields));
}

void Log::debug(std::string_view message, Fields fields) const {
  emit(LogLevel::kDebug, message, fields);
}
void Log::info(std::string_view message, Fields fields) const {
  emit(LogLevel::kInfo, message, fields);
}
void Log::warn(std::string_view message, Fields fields) const {
  emit(LogLevel::kWarn, message, fields);
}
void Log::error(std::string_view message, Fields fields) const {
  emit(LogLevel::kError, message, fields);
}

}  // namespace tidemark::base
