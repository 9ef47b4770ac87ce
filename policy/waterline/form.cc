#include "policy/waterline/form.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace tidemark::policy::waterline {
namespace {

constexpr std::size_t kShownMax = 60;  // bytes of a value in a message

std::string shown(const Json& value) {
  const std::string text = value.dump();
  return text.size() <= kShownMax ? text : base::cat(base::utf8_prefix(text, kShownMax), "…");
}

constexpr std::size_t kPoolNameMax = 63;  // bytes: some names become label values

bool is_name(std::string_view text) {
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= kPoolNameMax && good(text.front()) && good(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return good(c) || c == '-'; });
}

}  // namespace

Result<void> check_name(std::string_view name) {
  if (is_name(name)) return {};
  return fail(ErrorKind::kInvalid, "wanted up to ", kPoolNameMax,
              " lower-case letters, digits or '-', with a letter or digit at both ends, found ", base::in_quotes(name));
}

std::string to_string(const std::vector<Problem>& problems) {
  std::string out;
  for (const auto& problem : problems) {
    if (!out.empty()) out += "\n";
    out += problem.place.empty() ? problem.why : base::cat(problem.place, ": ", problem.why);
  }
  return out;
}

void Problems::add(std::string place, std::string why) {
  if (listed_.size() < kMax) {
    listed_.push_back({std::move(place), std::move(why)});
  } else {
    ++left_out_;
  }
}

std::vector<Problem> Problems::take() {
  if (left_out_ > 0) listed_.push_back({"", base::cat("and ", left_out_, " more")});
  return std::move(listed_);
}

Form::Form(const Json* value, std::string place, Problems& problems) : place_(std::move(place)), problems_(problems) {
  if (value == nullptr || value->is_null()) return;
  if (value->is_object()) {
    object_ = &value->as_object();
  } else {
    problems_.add(place_, base::cat("wanted settings by name, found ", shown(*value)));
  }
}

std::string Form::place(std::string_view key) const {
  return place_.empty() ? std::string(key) : base::cat(place_, ".", key);
}

void Form::problem(std::string_view key, std::string why) {
  problems_.add(place(key), std::move(why));
}

void Form::missing(std::string_view key, std::string_view say) {
  problem(key, base::cat("missing: ", say));
}

const Json* Form::known(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  const Json* found = object_ == nullptr ? nullptr : object_->find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

const Json* Form::member(std::string_view key) {
  return known(key);
}

bool Form::has(std::string_view key) {
  return known(key) != nullptr;
}

void Form::text(std::string_view key, std::string& out) {
  const Json* found = known(key);
  if (found == nullptr) return;
  if (!found->is_string()) return problem(key, base::cat("wanted a text, found ", shown(*found)));
  out = found->as_string();
}

void Form::boolean(std::string_view key, bool& out) {
  const Json* found = known(key);
  if (found == nullptr) return;
  if (!found->is_bool()) return problem(key, base::cat("wanted true or false, found ", shown(*found)));
  out = found->as_bool();
}

void Form::integer(std::string_view key, std::int64_t& out, std::int64_t lowest, std::int64_t highest) {
  const Json* found = known(key);
  if (found == nullptr) return;
  if (!found->is_int() || found->as_int() < lowest || found->as_int() > highest) {
    return problem(key, base::cat("wanted a whole number in ", lowest, "..", highest, ", found ", shown(*found)));
  }
  out = found->as_int();
}

void Form::integer(std::string_view key, std::optional<std::int64_t>& out, std::int64_t lowest, std::int64_t highest) {
  if (!has(key)) return;
  std::int64_t read = out.value_or(lowest);
  integer(key, read, lowest, highest);
  out = read;
}

void Form::duration(std::string_view key, base::Duration& out, base::Duration lowest, base::Duration highest) {
  const Json* found = known(key);
  if (found == nullptr) return;
  const auto read = base::parse_go_duration(found->get_string().value_or(""));
  if (!read || *read < lowest || *read > highest) {
    return problem(key, base::cat("wanted a duration like \"90s\" or \"10m\" in ", base::format_go_duration(lowest),
                                  "..", base::format_go_duration(highest), ", found ", shown(*found)));
  }
  out = *read;
}

std::optional<std::size_t> Form::choice(std::string_view key, std::vector<std::string_view> words) {
  const Json* found = known(key);
  if (found == nullptr) return std::nullopt;
  const std::string_view text = found->get_string().value_or("");
  const auto at = std::ranges::find(words, text);
  if (found->is_string() && at != words.end()) return static_cast<std::size_t>(at - words.begin());
  std::string wanted;
  for (const auto word : words) wanted += base::cat(wanted.empty() ? "" : " or ", word);
  const auto meant = base::nearest(text, words);
  problem(key, base::cat("wanted ", wanted, ", found ", shown(*found),
                         meant ? base::cat("; did you mean ", *meant, "?") : std::string()));
  return std::nullopt;
}

void Form::list(std::string_view key, std::size_t most,
                const std::function<void(const Json& item, std::string place)>& each) {
  const Json* found = known(key);
  if (found == nullptr) return;
  if (!found->is_array()) return problem(key, base::cat("wanted a list, found ", shown(*found)));
  const auto& items = found->as_array();
  if (items.size() > most) return problem(key, base::cat("at most ", most, ", found ", items.size()));
  for (std::size_t i = 0; i < items.size(); ++i) each(items[i], base::cat(place(key), "[", i, "]"));
}

void Form::finish() {
  if (object_ == nullptr) return;
  const std::vector<std::string_view> names(known_.begin(), known_.end());
  for (const auto& [key, value] : *object_) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    const auto meant = base::nearest(key, names);
    problem(base::in_quotes(key),
            base::cat("unknown setting", meant ? base::cat("; did you mean ", *meant, "?") : std::string()));
  }
}

std::string read_name(Form& form, const std::string& place, std::map<std::string, std::string>& seen) {
  std::string name;
  form.text("name", name);
  if (!form.has("name")) {
    form.missing("name", "a name is required");
    return "";
  }
  if (const auto good = check_name(name); !good) {
    form.problem("name", good.error().message);
    return "";
  }
  form.rename(base::cat(place, " (", name, ")"));
  if (const auto [at, fresh] = seen.emplace(name, place); !fresh) {
    form.problem("name", base::cat(at->second, " has the same name"));
  }
  return name;
}

}  // namespace tidemark::policy::waterline
