#include "console/text_change.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/text.h"
#include "base/yaml.h"

namespace tidemark::console {
namespace {

constexpr std::size_t kLineMax = 140;  // a mapping that is longer gets a line for each member

using Place = std::span<const std::variant<std::string, std::size_t>>;

std::string words(Place place) {
  std::string out;
  for (const auto& step : place) {
    if (const auto* key = std::get_if<std::string>(&step)) {
      out += base::cat(out.empty() ? "" : ".", *key);
    } else {
      out += base::cat("[", std::get<std::size_t>(step), "]");
    }
  }
  return out.empty() ? "the text" : out;
}

Json* find(Json& tree, Place place) {
  Json* at = &tree;
  for (const auto& step : place) {
    if (const auto* key = std::get_if<std::string>(&step)) {
      at = at->is_object() ? at->as_object().find(*key) : nullptr;
    } else {
      const std::size_t i = std::get<std::size_t>(step);
      at = at->is_array() && i < at->as_array().size() ? &at->as_array()[i] : nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

Result<void> apply(Json& tree, const TextChange& change) {
  const Place place(change.at);
  if (place.empty()) return fail(ErrorKind::kInvalid, "a change needs a place");
  Json* parent = find(tree, place.first(place.size() - 1));
  const auto* key = std::get_if<std::string>(&place.back());
  if (parent == nullptr || !(key != nullptr ? parent->is_object() : parent->is_array())) {
    return fail(ErrorKind::kInvalid, words(place), ": there is no such place in the text");
  }
  if (key != nullptr) {
    if (change.value) {
      parent->as_object().set(*key, *change.value);
    } else {
      parent->as_object().erase(*key);
    }
    return {};
  }
  Json::Array& items = parent->as_array();
  const std::size_t i = std::get<std::size_t>(place.back());
  if (i > items.size() || (i == items.size() && !change.value)) {
    return fail(ErrorKind::kInvalid, words(place), ": the list has ", items.size(), " items");
  }
  if (!change.value) {
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
  } else if (i == items.size()) {
    items.push_back(*change.value);
  } else {
    items[i] = *change.value;
  }
  return {};
}

// --- the lines of a block ---

using Lines = std::vector<std::string_view>;

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}
bool says_nothing(std::string_view line) {
  const std::string_view text = base::trim(line);
  return text.empty() || text.front() == '#';
}
bool begins_item(std::string_view line) {
  const std::string_view text = line.substr(indent_of(line));
  return text == "-" || text.starts_with("- ");
}
bool begins_member(std::string_view line, std::string_view key) {
  std::string_view text = line.substr(indent_of(line));
  while (text.starts_with("- ")) text = text.substr(std::min(text.find_first_not_of(' ', 1), text.size()));
  for (const std::string& written : {std::string(key), base::cat("\"", key, "\""), base::cat("'", key, "'")}) {
    if (text.starts_with(written) && base::trim(text.substr(written.size())).starts_with(":")) return true;
  }
  return false;
}

struct Block {
  std::size_t first = 0, end = 0;  // lines
  std::size_t indent = 0;          // of its first line
};

// What belongs to the line: those that are indented more; for a key also a list at its own depth. Without blank lines
// and comments at the end, which rather belong to what follows.
Block block_at(const Lines& lines, std::size_t first, std::size_t limit) {
  const std::size_t indent = indent_of(lines[first]);
  const bool item = begins_item(lines[first]);
  std::size_t end = first + 1;
  for (std::size_t i = first + 1; i < limit; ++i) {
    if (says_nothing(lines[i])) continue;
    const std::size_t depth = indent_of(lines[i]);
    if (depth < indent || (depth == indent && (item || !begins_item(lines[i])))) break;
    end = i + 1;
  }
  return {first, end, indent};
}

// The parts of a block: items of a list, members of a mapping. An item that is a mapping has its first member in its
// own line; that member is not a part here, so a change of it writes the item anew.
std::vector<Block> parts_of(const Lines& lines, const Block& block, bool top) {
  std::vector<Block> out;
  for (std::size_t i = top ? block.first : block.first + 1; i < block.end;) {
    if (says_nothing(lines[i])) {
      ++i;
      continue;
    }
    if (!out.empty() && indent_of(lines[i]) != out.front().indent) return {};
    out.push_back(block_at(lines, i, block.end));
    i = out.back().end;
  }
  return out;
}

std::optional<Block> block_of(const Lines& lines, Place place) {
  Block block{0, lines.size(), 0};
  bool top = true;
  for (const auto& step : place) {
    const auto parts = parts_of(lines, block, top);
    if (const auto* key = std::get_if<std::string>(&step)) {
      const auto found =
          std::ranges::find_if(parts, [&](const Block& each) { return begins_member(lines[each.first], *key); });
      if (found == parts.end()) return std::nullopt;
      block = *found;
    } else {
      const std::size_t i = std::get<std::size_t>(step);
      if (i >= parts.size() || !begins_item(lines[parts[i].first])) return std::nullopt;
      block = parts[i];
    }
    top = false;
  }
  return block;
}

// --- values as text ---

// As people write it: without quotes where the reader takes it for a text anyway.
std::string scalar(const Json& value) {
  if (!value.is_string()) return value.dump();
  const std::string& text = value.as_string();
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == ':';
  };
  if (text.empty() || !std::ranges::all_of(text, plain) || text.front() == '-' || text.back() == ':') {
    return value.dump();
  }
  const auto read = base::parse_yaml(text);
  return read && *read == value ? text : value.dump();
}

bool is_flat(const Json& value) {
  return value.is_object() && !value.as_object().empty() &&
         std::ranges::none_of(value.as_object(),
                              [](const auto& member) { return member.second.is_object() || member.second.is_array(); });
}

std::string in_one_line(const Json& object) {
  std::string out = "{";
  for (const auto& [key, value] : object.as_object()) {
    out += base::cat(out.size() > 1 ? ", " : "", scalar(Json(key)), ": ", scalar(value));
  }
  return out + "}";
}

using Texts = std::vector<std::string>;

Texts block_lines(const Json& value);

// "key: value" or "- value", in one line if it fits.
Texts step_lines(const std::variant<std::string, std::size_t>& step, const Json& value) {
  const auto* key = std::get_if<std::string>(&step);
  const std::string name = key != nullptr ? base::cat(scalar(Json(*key)), ":") : std::string("-");
  const bool nested = value.is_array() ? !value.as_array().empty() : value.is_object() && !value.as_object().empty();
  if (!nested) return {base::cat(name, " ", scalar(value))};
  if (is_flat(value)) {
    std::string line = base::cat(name, " ", in_one_line(value));
    if (line.size() <= kLineMax) return {std::move(line)};
  }
  Texts out;
  if (key != nullptr) out.push_back(name);
  for (const std::string& line : block_lines(value)) {
    if (key != nullptr) {
      out.push_back(base::cat(value.is_array() ? "" : "  ", line));
    } else {
      out.push_back(base::cat(out.empty() ? "- " : "  ", line));
    }
  }
  return out;
}

Texts block_lines(const Json& value) {
  Texts out;
  const auto add = [&](Texts lines) { std::ranges::move(lines, std::back_inserter(out)); };
  if (value.is_array()) {
    for (const Json& each : value.as_array()) add(step_lines(std::size_t{0}, each));
  } else {
    for (const auto& [key, each] : value.as_object()) add(step_lines(key, each));
  }
  return out;
}

std::string block_text(const std::variant<std::string, std::size_t>& step, const Json& value, std::size_t indent) {
  std::string out;
  for (const std::string& line : step_lines(step, value)) out += base::cat(std::string(indent, ' '), line, "\n");
  return out;
}

std::string joined(const Lines& lines, std::size_t first, std::size_t end) {
  std::string out;
  for (std::size_t i = first; i < end; ++i) out += base::cat(lines[i], "\n");
  return out;
}

// The text with what is at the place replaced by `wanted` (nullptr: removed); nullopt if its lines are not found.
std::optional<std::string> with_block(const Lines& lines, Place place, const Json* wanted) {
  if (const auto block = block_of(lines, place)) {
    return joined(lines, 0, block->first) +
           (wanted != nullptr ? block_text(place.back(), *wanted, block->indent) : "") +
           joined(lines, block->end, lines.size());
  }
  if (wanted == nullptr) return std::nullopt;
  const Place above = place.first(place.size() - 1);
  const auto parent = block_of(lines, above);
  if (!parent) return std::nullopt;
  const auto parts = parts_of(lines, *parent, above.empty());
  // A mapping that is an item has its members two columns behind the dash.
  const bool item = !above.empty() && begins_item(lines[parent->first]);
  if (parts.empty() && !item && !above.empty()) return std::nullopt;
  const std::size_t indent = !parts.empty() ? parts.front().indent : item ? parent->indent + 2 : 0;
  const std::size_t at = parts.empty() ? parent->end : parts.back().end;
  return joined(lines, 0, at) + block_text(place.back(), *wanted, indent) + joined(lines, at, lines.size());
}

// `wanted`: what the text means with the change.
std::string changed_once(const std::string& text, const TextChange& change, Json& wanted) {
  if (base::trim(text).starts_with("{")) return wanted.dump();
  Lines lines = base::split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (std::size_t depth = change.at.size(); depth > 0; --depth) {
    const Place place = Place(change.at).first(depth);
    const Json* value = depth == change.at.size() && !change.value ? nullptr : find(wanted, place);
    if (auto candidate = with_block(lines, place, value)) {
      const auto read = base::parse_yaml(*candidate);
      if (read && *read == wanted) return *std::move(candidate);
    }
  }
  return base::to_yaml(wanted);
}

}  // namespace

Result<ChangedText> change_text(std::string text, const std::vector<TextChange>& changes) {
  TM_TRY(Json tree, base::parse_yaml(text));
  for (const TextChange& change : changes) {
    if (tree.is_null()) tree = Json::object();
    TM_TRY_VOID(apply(tree, change));
    text = changed_once(text, change, tree);
  }
  return ChangedText{std::move(text), std::move(tree)};
}

}  // namespace tidemark::console
