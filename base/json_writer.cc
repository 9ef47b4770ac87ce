#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/json_scan.h"
#include "base/utf8.h"

namespace tidemark::base {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

void append_escaped(std::string& out, unsigned char byte) {
  switch (byte) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\b':
      out.append("\\b");
      return;
    case '\f':
      out.append("\\f");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
    default:
      out.append("\\u00").append({kHexDigits[byte >> 4], kHexDigits[byte & 0xF]});
  }
}

// The shortest digits that read back to the same value, laid out as Go's encoding/json does, because objects travel
// through Go programs that compare text: no exponent from 1e-6 up to 1e21, and beyond that "1e+21", "1e-7".
void append_double(std::string& out, double number) {
  // JSON has no word for what is not finite, and an error here would have no one to go to: null, as in JavaScript.
  if (!std::isfinite(number)) {
    out.append("null");
    return;
  }
  char text[40];
  const double magnitude = std::fabs(number);
  // Below this the fixed form has no digits but the shortest ones.
  constexpr double kFixedIsShortest = 1e15;
  if (magnitude == 0 || (magnitude >= 1e-6 && magnitude < kFixedIsShortest)) {
    out.append(text, std::to_chars(text, text + sizeof text, number, std::chars_format::fixed).ptr);
    return;
  }
  const std::string_view written(text,
                                 std::to_chars(text, text + sizeof text, number, std::chars_format::scientific).ptr);
  const std::size_t mark = written.find('e');
  const std::string_view mantissa = written.substr(0, mark);
  if (magnitude >= 1e-6 && magnitude < 1e21) {
    std::size_t digits = 0;
    for (const char c : mantissa) {
      if (c == '.') continue;
      out.push_back(c);
      digits += c == '-' ? 0 : 1;
    }
    std::size_t exponent = 0;
    for (const char c : written.substr(mark + 2)) exponent = exponent * 10 + static_cast<std::size_t>(c - '0');
    // From 1e15 on the shortest form may still have a digit behind the point.
    if (digits > exponent + 1) {
      out.insert(out.end() - static_cast<std::ptrdiff_t>(digits - exponent - 1), '.');
    } else {
      out.append(exponent + 1 - digits, '0');
    }
    return;
  }
  out.append(mantissa);
  out.append(written.substr(mark, 2));
  std::string_view exponent = written.substr(mark + 2);
  if (exponent.starts_with('0')) exponent.remove_prefix(1);
  out.append(exponent);
}

void append_pretty(std::string& out, const Json& value, std::size_t indent) {
  const auto new_line = [&out](std::size_t blanks) { out.append(1, '\n').append(blanks, ' '); };
  constexpr std::size_t kIndentStep = 2;
  if (value.is_array() && !value.as_array().empty()) {
    char before = '[';
    for (const Json& element : value.as_array()) {
      out.push_back(std::exchange(before, ','));
      new_line(indent + kIndentStep);
      append_pretty(out, element, indent + kIndentStep);
    }
    new_line(indent);
    out.push_back(']');
  } else if (value.is_object() && !value.as_object().empty()) {
    char before = '{';
    for (const auto& [name, member] : value.as_object()) {
      out.push_back(std::exchange(before, ','));
      new_line(indent + kIndentStep);
      append_json_string(out, name);
      out.append(": ");
      append_pretty(out, member, indent + kIndentStep);
    }
    new_line(indent);
    out.push_back('}');
  } else {
    value.append_to(out);
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  const char* at = text.data();
  const char* const end = at + text.size();
  const char* copied = at;
  while ((at = find_json_special(at, end)) < end) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < 0x80) {
      out.append(copied, at);
      append_escaped(out, byte);
      copied = ++at;
    } else if (const std::size_t length = utf8_length(at, end); length > 0) {
      at += length;
    } else {
      // What is not UTF-8 must not leave the process as JSON; Go replaces it in the same way.
      out.append(copied, at).append(kReplacement);
      copied = ++at;
    }
  }
  out.append(copied, end).push_back('"');
}

void JsonWriter::separate() {
  if (need_comma_) out_.push_back(',');
  need_comma_ = true;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  out_.push_back('{');
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  out_.push_back('}');
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  out_.push_back('[');
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  out_.push_back(']');
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_.push_back(':');
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) {
  separate();
  detail::append(out_, number);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  separate();
  append_double(out_, number);
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  separate();
  out_.append(flag ? "true" : "false");
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  out_.append("null");
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_.append(json);
  return *this;
}

void Json::append_to(std::string& out) const {
  struct Append {
    std::string& out;
    void operator()(std::nullptr_t) const { out.append("null"); }
    void operator()(bool flag) const { out.append(flag ? "true" : "false"); }
    void operator()(std::int64_t number) const { detail::append(out, number); }
    void operator()(double number) const { append_double(out, number); }
    void operator()(const std::string& text) const { append_json_string(out, text); }
    void operator()(const Array& elements) const {
      out.push_back('[');
      bool first = true;
      for (const Json& element : elements) {
        if (!std::exchange(first, false)) out.push_back(',');
        element.append_to(out);
      }
      out.push_back(']');
    }
    void operator()(const JsonObject& members) const {
      out.push_back('{');
      bool first = true;
      for (const auto& [name, member] : members) {
        if (!std::exchange(first, false)) out.push_back(',');
        append_json_string(out, name);
        out.push_back(':');
        member.append_to(out);
      }
      out.push_back('}');
    }
  };
  std::visit(Append{out}, value_);
}

std::string Json::dump() const {
  std::string out;
  append_to(out);
  return out;
}

std::string Json::dump_pretty() const {
  std::string out;
  append_pretty(out, *this, 0);
  return out;
}

}  // namespace tidemark::base
