#include <algorithm>

#include "base/flags.h"
#include "base/text.h"

namespace tidemark::base {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kNameColumnMax = 40;  // a longer name has its help on the next line

// Columns, not bytes; good for text without combining characters.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Words from column `at` on; every further line starts at `indent`. A word that is wider than a line stays whole.
void append_wrapped(std::string& out, std::string_view text, std::size_t at, std::size_t indent) {
  bool first = true;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!first && at + 1 + width(word) > kColumns) {
      out.push_back('\n');
      out.append(indent, ' ');
      at = indent;
    } else if (!first) {
      out.push_back(' ');
      ++at;
    }
    out += word;
    at += width(word);
    first = false;
  }
  out.push_back('\n');
}

struct Entry {
  std::string name;
  std::string help;
};

}  // namespace

std::string Flags::usage() const {
  return cat(program_, " [flags]", arguments_usage_.empty() ? "" : " ", arguments_usage_);
}

std::string Flags::help() const {
  std::vector<std::pair<std::string_view, std::vector<Entry>>> groups;
  std::size_t column = 0;
  const auto add_entry = [&](std::string_view group, Entry entry) {
    auto found = std::ranges::find(groups, group, [](const auto& each) { return each.first; });
    if (found == groups.end()) found = groups.insert(groups.end(), {group, {}});
    if (width(entry.name) + 2 <= kNameColumnMax) column = std::max(column, width(entry.name) + 2);
    found->second.push_back(std::move(entry));
  };

  for (const auto& flag : flags_) {
    if (flag->hidden_) continue;
    Entry entry;
    std::vector<std::string> notes;
    for (const std::string& alias : flag->aliases_) {
      if (alias.size() == 1) entry.name += cat("-", alias, ", ");
    }
    entry.name += cat("--", flag->name_);
    if (!flag->placeholder_.empty()) entry.name += cat(" ", flag->placeholder_);
    for (const std::string& alias : flag->aliases_) {
      if (alias.size() > 1) notes.push_back(cat("also --", alias));
    }
    if (flag->required_) notes.emplace_back("required");
    if (!flag->default_.empty() && !flag->secret_ && !flag->required_) notes.push_back(cat("default ", flag->default_));
    if (!flag->range_.empty()) notes.push_back(flag->range_);
    notes.push_back(flag->environment_name());
    entry.help = cat(flag->help_, " (", join(notes, "; "), ")");
    add_entry(flag->group_, std::move(entry));
  }
  const std::string general = flags_.front()->group_;
  add_entry(general, {"-h, --help", "this text"});
  add_entry(general, {"--version", "the version"});
  // What every command has comes last.
  const auto last = std::ranges::find(groups, general, [](const auto& each) { return each.first; });
  std::rotate(last, last + 1, groups.end());

  std::string out = cat("Usage: ", usage(), "\n");
  if (!summary_.empty()) {
    out.push_back('\n');
    append_wrapped(out, summary_, 0, 0);
  }
  const std::size_t help_at = 2 + column;
  for (const auto& [title, entries] : groups) {
    out += cat("\n", title, ":\n");
    for (const Entry& entry : entries) {
      out += cat("  ", entry.name);
      if (width(entry.name) + 2 > column) {
        out.push_back('\n');
        out.append(help_at, ' ');
      } else {
        out.append(column - width(entry.name), ' ');
      }
      append_wrapped(out, entry.help, help_at, help_at);
    }
  }
  if (!examples_.empty()) out += "\nExamples:\n";
  for (const std::string& example : examples_) out += cat("  ", example, "\n");
  out.push_back('\n');
  append_wrapped(out,
                 "A value comes from the command line, else from the environment, else from the configuration file, "
                 "else it is the default.",
                 0, 0);
  return out;
}

}  // namespace tidemark::base
