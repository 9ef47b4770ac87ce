#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "base/yaml.h"

namespace tidemark::base {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
// A key before its colon may have 1024 characters (YAML 1.2, 7.4.2), quotes and escapes counted; a longer one is
// written with a question mark.
constexpr std::size_t kSimpleKeyMax = 1000;

// Words that some YAML reader takes for a boolean or null, in small letters.
bool is_special_word(std::string_view text) {
  const std::string small = lower(text);
  for (const std::string_view word : {"true", "false", "yes", "no", "on", "off", "y", "n", "null"}) {
    if (small == word) return true;
  }
  return false;
}

// Starts with a letter, so that no reader sees a number, a date, an indicator or a tag; and holds nothing that starts a
// comment or a value.
bool may_be_plain(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/'; };
  if (text.empty() || !letter(text.front()) || text.back() == ' ' || text.back() == ':') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' ? text[i - 1] == ':'
                 : !letter(c) && !(c >= '0' && c <= '9') && !std::string_view("-.@+:").contains(c)) {
      return false;
    }
  }
  return !is_special_word(text);
}

void append_double_quoted(std::string& out, std::string_view text) {
  const auto hex = [&out](std::string_view lead, unsigned value, int digits) {
    out += lead;
    for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out.push_back(kHex[(value >> shift) & 0xf]);
  };
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text.data() + at, text.data() + text.size()));
    const std::string_view character = text.substr(at, length);
    const auto lead = static_cast<unsigned char>(character.front());
    if (character == "\"" || character == "\\") {
      out.push_back('\\');
      out += character;
    } else if (character == "\n") {
      out += "\\n";
    } else if (character == "\t") {
      out += "\\t";
    } else if (character == "\r") {
      out += "\\r";
    } else if (lead < 0x20 || lead == 0x7f) {
      hex("\\x", lead, 2);
    } else if (length == 2 && lead == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0) {
      hex("\\x", static_cast<unsigned char>(character[1]), 2);  // U+0080 … U+009F
    } else if (character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9" || character == "\xef\xbb\xbf") {
      out += character == "\xe2\x80\xa8" ? "\\u2028" : character == "\xe2\x80\xa9" ? "\\u2029" : "\\ufeff";
    } else {
      out += character;
    }
    at += length;
  }
  out.push_back('"');
}

// Several lines of clean text are written as people write them: a literal block.
bool may_be_literal(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.ends_with("\n\n")) return false;
  for (const std::string_view line : split(text, '\n')) {
    // A first character that is white space would be taken for indentation; a last one is easily lost.
    if (!line.empty() && (line.front() == ' ' || line.back() == ' ')) {
      if (line.back() == ' ' || line.data() == text.data()) return false;
    }
    for (const char c : line) {
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) return false;
    }
  }
  return text.front() != '\n';
}

void append_text(std::string& out, std::string_view text, std::size_t indent) {
  if (may_be_plain(text)) {
    out += text;
  } else if (may_be_literal(text)) {
    out += text.ends_with('\n') ? "|" : "|-";
    if (text.ends_with('\n')) text.remove_suffix(1);
    for (const std::string_view line : split(text, '\n')) {
      out.push_back('\n');
      if (!line.empty()) out.append(indent, ' ').append(line);
    }
  } else {
    append_double_quoted(out, text);
  }
}

void append_block(std::string& out, const Json& value, std::size_t indent);

// What stands behind "key:" or "-" on the same line; true where nothing does and a block follows.
bool append_inline(std::string& out, const Json& value, std::size_t indent) {
  if (value.is_object() && !value.as_object().empty()) return true;
  if (value.is_array() && !value.as_array().empty()) return true;
  if (value.is_string()) {
    append_text(out, value.as_string(), indent);
  } else {
    value.append_to(out);  // numbers, booleans, null, {} and [] are the same in both
  }
  return false;
}

void append_key(std::string& out, std::string_view key, std::size_t indent) {
  const std::size_t start = out.size();
  if (may_be_plain(key)) {
    out += key;
  } else {
    append_double_quoted(out, key);
  }
  if (out.size() - start > kSimpleKeyMax) {
    out.insert(start, "? ");
    out.push_back('\n');
    out.append(indent, ' ');
  }
  out += ": ";
}

// The first line is not indented: it stands behind what came before.
void append_object(std::string& out, const JsonObject& object, std::size_t indent) {
  bool first = true;
  for (const auto& [key, value] : object) {
    if (!first) out.append(indent, ' ');
    first = false;
    append_key(out, key, indent);
    if (append_inline(out, value, indent + 2)) {
      out.back() = '\n';
      // A list stands as deep as its key, as kubectl writes it.
      const std::size_t inner = value.is_array() ? indent : indent + 2;
      out.append(inner, ' ');
      append_block(out, value, inner);
    } else {
      out.push_back('\n');
    }
  }
}

void append_array(std::string& out, const Json::Array& array, std::size_t indent) {
  bool first = true;
  for (const Json& element : array) {
    if (!first) out.append(indent, ' ');
    first = false;
    out += "- ";
    if (append_inline(out, element, indent + 2)) {
      append_block(out, element, indent + 2);
    } else {
      out.push_back('\n');
    }
  }
}

void append_block(std::string& out, const Json& value, std::size_t indent) {
  if (value.is_object()) {
    append_object(out, value.as_object(), indent);
  } else {
    append_array(out, value.as_array(), indent);
  }
}

}  // namespace

std::string to_yaml(const Json& value) {
  std::string out;
  if (append_inline(out, value, 2)) {
    append_block(out, value, 0);
  } else {
    out.push_back('\n');
  }
  return out;
}

}  // namespace tidemark::base
