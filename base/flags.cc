#include "base/flags.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "base/yaml.h"

namespace tidemark::base {
namespace {

constexpr std::string_view kConfigFlag = "config";

bool is_flag_name(std::string_view name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' && name.back() != '-' &&
         std::ranges::all_of(name, fits);
}

// The peer's names have capitals, dots and underscores too.
bool is_alias(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.front() != '-' && std::ranges::all_of(name, fits);
}

// The pieces of a list on the command line or in a variable; "" is the empty list.
std::vector<std::string> pieces(std::string_view text) {
  std::vector<std::string> parts;
  if (trim(text).empty()) return parts;
  for (const std::string_view part : split(text, ',')) parts.emplace_back(trim(part));
  return parts;
}

std::string with_dashes(std::string_view name) {
  return cat(name.size() == 1 ? "-" : "--", name);
}

}  // namespace

// One source's word on one flag.
struct Flags::Given {
  std::vector<std::string> values;
  std::string place;
};

struct Flags::Sources {
  std::map<const Flag*, Given> command_line;
  std::map<const Flag*, Given> environment;
  std::map<const Flag*, Given> config;

  const Given* winner(const Flag& flag) const {
    for (const auto* source : {&command_line, &environment, &config}) {
      if (const auto found = source->find(&flag); found != source->end()) return &found->second;
    }
    return nullptr;
  }
};

Flag& Flag::alias(std::string_view other_name) {
  TM_CHECK(is_alias(other_name), "not a name that can be typed");
  aliases_.emplace_back(other_name);
  return *this;
}

Flag& Flag::placeholder(std::string_view word) {
  placeholder_ = word;
  return *this;
}

Flag& Flag::secret() {
  secret_ = true;
  return *this;
}

Flag& Flag::hidden() {
  hidden_ = true;
  return *this;
}

Flag& Flag::required() {
  required_ = true;
  return *this;
}

Flag& Flag::verbatim() {
  TM_CHECK(kind_ == Kind::kList, "of lists");
  verbatim_ = true;
  return *this;
}

bool Flag::answers_to(std::string_view name) const {
  return name_ == name || std::ranges::find(aliases_, name) != aliases_.end();
}

std::string Flag::environment_name() const {
  std::string name = "TIDEMARK_";
  for (const char c : name_)
    name.push_back(c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  return name;
}

Flags::Flags(std::string_view program, std::string_view summary) : program_(program), summary_(summary) {
  group("General");
  text(kConfigFlag, config_path_, "configuration file, YAML or JSON: flag names as keys").placeholder("FILE");
  group("Flags");
}

void Flags::group(std::string_view title) {
  group_ = title;
}

void Flags::arguments(std::string_view usage, std::size_t min, std::size_t max) {
  TM_CHECK(min <= max && max > 0, "how many arguments");
  arguments_usage_ = usage;
  arguments_min_ = min;
  arguments_max_ = max;
}

void Flags::example(std::string_view call) {
  examples_.emplace_back(call);
}

Flag& Flags::add(std::string_view name, Flag::Kind kind, std::string_view placeholder, std::string_view help) {
  TM_CHECK(is_flag_name(name) && name.size() > 1, "small letters, digits and dashes; one letter is an alias");
  TM_CHECK(find(name) == nullptr, "a flag is declared twice");
  Flag& flag = *flags_.emplace_back(std::make_unique<Flag>());
  flag.name_ = name;
  flag.kind_ = kind;
  flag.placeholder_ = placeholder;
  flag.help_ = help;
  flag.group_ = group_;
  return flag;
}

Flag& Flags::text(std::string_view name, std::string& target, std::string_view help) {
  Flag& flag = add(name, Flag::Kind::kText, "TEXT", help);
  flag.default_ = target;
  flag.read_ = [&target](std::span<const std::string> values, bool assign) -> std::optional<std::string> {
    if (assign) target = values.front();
    return std::nullopt;
  };
  return flag;
}

Flag& Flags::boolean(std::string_view name, bool& target, std::string_view help) {
  Flag& flag = add(name, Flag::Kind::kBool, "", help);
  flag.default_ = target ? "true" : "false";
  flag.read_ = [&target](std::span<const std::string> values, bool assign) -> std::optional<std::string> {
    const auto value = parse_go_bool(values.front());
    if (!value) return "is neither true nor false";
    if (assign) target = *value;
    return std::nullopt;
  };
  return flag;
}

Flag& Flags::integer(std::string_view name, std::int64_t& target, std::int64_t min, std::int64_t max,
                     std::string_view help) {
  TM_CHECK(min <= target && target <= max, "a default outside its range");
  Flag& flag = add(name, Flag::Kind::kInteger, "N", help);
  flag.default_ = cat(target);
  flag.range_ = cat(min, "..", max);
  flag.read_ = [&target, min, max](std::span<const std::string> values, bool assign) -> std::optional<std::string> {
    const auto value = parse_int(values.front());
    if (!value) return "is not a whole number";
    if (*value < min || *value > max) return cat("is not in ", min, "..", max);
    if (assign) target = *value;
    return std::nullopt;
  };
  return flag;
}

Flag& Flags::number(std::string_view name, double& target, double min, double max, std::string_view help) {
  TM_CHECK(min <= target && target <= max, "a default outside its range");
  Flag& flag = add(name, Flag::Kind::kNumber, "NUMBER", help);
  flag.default_ = cat(target);
  flag.range_ = cat(min, "..", max);
  flag.read_ = [&target, min, max](std::span<const std::string> values, bool assign) -> std::optional<std::string> {
    const auto value = parse_double(values.front());
    if (!value) return "is not a number";
    if (!(*value >= min && *value <= max)) return cat("is not in ", min, "..", max);
    if (assign) target = *value;
    return std::nullopt;
  };
  return flag;
}

Flag& Flags::duration(std::string_view name, Duration& target, Duration min, Duration max, std::string_view help) {
  TM_CHECK(min <= target && target <= max, "a default outside its range");
  Flag& flag = add(name, Flag::Kind::kDuration, "DURATION", help);
  flag.default_ = format_go_duration(target);
  flag.range_ = cat(format_go_duration(min), "..", format_go_duration(max));
  flag.read_ = [&target, min, max](std::span<const std::string> values, bool assign) -> std::optional<std::string> {
    const auto value = parse_go_duration(values.front());
    if (!value) return "is not a duration like 300ms, 30s or 1h30m";
    if (*value < min || *value > max) {
      return cat("is not in ", format_go_duration(min), "..", format_go_duration(max));
    }
    if (assign) target = *value;
    return std::nullopt;
  };
  return flag;
}

Flag& Flags::choice(std::string_view name, std::string& target, std::initializer_list<std::string_view> words,
                    std::string_view help) {
  std::vector<std::string> texts(words.begin(), words.end());
  const auto chosen = static_cast<std::size_t>(std::ranges::find(texts, target) - texts.begin());
  return add_choice(name, texts, chosen, [&target, texts](std::size_t i) { target = texts[i]; }, help);
}

Flag& Flags::add_choice(std::string_view name, std::vector<std::string> words, std::size_t chosen,
                        std::function<void(std::size_t)> assign_index, std::string_view help) {
  TM_CHECK(chosen < words.size(), "the default is not one of the words");
  Flag& flag = add(name, Flag::Kind::kChoice, join(words, "|"), help);
  flag.default_ = words[chosen];
  flag.read_ = [words = std::move(words), assign_index = std::move(assign_index)](
                   std::span<const std::string> values, bool assign) -> std::optional<std::string> {
    const auto found = std::ranges::find(words, values.front());
    if (found == words.end()) {
      const std::vector<std::string_view> candidates(words.begin(), words.end());
      const auto meant = nearest(values.front(), candidates);
      return cat("is not one of ", join(words, ", "), meant ? cat("; did you mean ", *meant, "?") : "");
    }
    if (assign) assign_index(static_cast<std::size_t>(found - words.begin()));
    return std::nullopt;
  };
  return flag;
}

Flag& Flags::list(std::string_view name, std::vector<std::string>& target, std::string_view help) {
  return add_list(name, join(target, ","), help, [&target](std::span<const std::string> values, bool assign) {
    if (assign) target.assign(values.begin(), values.end());
    return std::optional<std::string>();
  });
}

Flag& Flags::add_list(std::string_view name, std::string_view shown, std::string_view help, Flag::Read read) {
  Flag& flag = add(name, Flag::Kind::kList, "A,B,...", help);
  flag.default_ = shown;
  flag.read_ = [read = std::move(read)](std::span<const std::string> values,
                                        bool assign) -> std::optional<std::string> {
    if (std::ranges::find(values, "") != values.end()) return "has an empty element";
    return read(values, assign);
  };
  return flag;
}

const Flag* Flags::find(std::string_view name) const {
  for (const auto& flag : flags_) {
    if (flag->answers_to(name)) return flag.get();
  }
  return nullptr;
}

std::string Flags::did_you_mean(std::string_view name, std::string_view dashes) const {
  std::vector<std::string_view> candidates;
  for (const auto& flag : flags_) {
    if (flag->hidden_) continue;
    candidates.push_back(flag->name_);
    if (dashes.empty()) continue;  // a configuration file knows no aliases
    for (const std::string& alias : flag->aliases_) {
      if (alias.size() > 1) candidates.push_back(alias);
    }
  }
  if (!dashes.empty()) candidates.insert(candidates.end(), {"help", "version"});
  const auto meant = nearest(name, candidates);
  return meant ? cat("; did you mean ", dashes, *meant, "?") : "";
}

// As Go's flag package reads them (one dash or two, -name=value or -name value, a bare -- ends the flags), but flags
// may stand behind arguments too.
Result<void> Flags::read_arguments(std::span<const std::string> args, Sources& sources, Parsed& parsed) const {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    if (arg == "--") {
      parsed.arguments.insert(parsed.arguments.end(), args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
      break;
    }
    if (!arg.starts_with('-') || arg == "-") {
      parsed.arguments.emplace_back(arg);
      continue;
    }
    const std::string_view body = arg.substr(arg.starts_with("--") ? 2 : 1);
    const std::size_t equals = body.find('=');
    const std::string_view name = body.substr(0, equals);
    const Flag* flag = find(name);
    if (flag == nullptr) {
      if (name == "help" || name == "h") {
        parsed.help = true;
        return {};
      }
      if (name == "version") {
        parsed.version = true;
        return {};
      }
      // What follows "=" may be a secret whose flag was misspelt.
      return fail(ErrorKind::kInvalid, "unknown flag ", arg.substr(0, arg.size() - body.size()),
                  is_alias(name) ? std::string(name) : in_quotes(name), did_you_mean(name, "--"));
    }

    const std::string place = with_dashes(name);
    std::string value = "true";
    const bool has_next = i + 1 < args.size();
    if (equals != std::string_view::npos) {
      value = body.substr(equals + 1);
    } else if (flag->kind_ == Flag::Kind::kBool) {
      if (has_next && (args[i + 1] == "true" || args[i + 1] == "false")) {
        return fail(ErrorKind::kInvalid, place, ": a switch takes its value behind an equals sign: ", place, "=",
                    args[i + 1]);
      }
    } else {
      if (!has_next) return fail(ErrorKind::kInvalid, place, ": a value must follow");
      const std::string_view next = args[i + 1];
      if (next.starts_with("--") && find(next.substr(2, next.find('=') - 2)) != nullptr) {
        return fail(ErrorKind::kInvalid, place, ": a value must follow, not another flag; if that is the value, write ",
                    place, "=...");
      }
      value = next;
      ++i;
    }

    Given& given = sources.command_line[flag];
    given.place = place;
    if (flag->kind_ == Flag::Kind::kList && !flag->verbatim_) {
      std::ranges::move(pieces(value), std::back_inserter(given.values));
    } else if (flag->kind_ == Flag::Kind::kList) {
      given.values.push_back(std::move(value));
    } else {
      given.values.assign(1, value);
    }
  }
  return {};
}

Result<void> Flags::read_environment(const Environment& environment, Sources& sources) const {
  for (const auto& flag : flags_) {
    const std::string name = flag->environment_name();
    std::optional<std::string> value = environment(name);
    if (!value || value->empty()) continue;
    Given given{{}, cat("environment ", name)};
    if (flag->kind_ == Flag::Kind::kList) {
      given.values = pieces(*value);
    } else {
      given.values.push_back(std::move(*value));
    }
    sources.environment.emplace(flag.get(), std::move(given));
  }
  return {};
}

namespace {

// The members of a JSON object with their lines. YAML would read most JSON too, but not all of its escapes.
Result<std::vector<YamlMember>> json_members(std::string_view text) {
  std::vector<YamlMember> members;
  JsonReader reader(text);
  reader.object([&](std::string_view key) {
    YamlMember member{std::string(key), Json(), 0};
    const std::string_view before = text.substr(0, reader.offset());
    member.line = static_cast<int>(std::ranges::count(before, '\n')) + 1;
    if (reader.value(member.value)) members.push_back(std::move(member));
  });
  TM_TRY_VOID(reader.finish());
  std::vector<std::string_view> keys;
  for (const YamlMember& member : members) {
    if (std::ranges::find(keys, member.key) != keys.end()) {
      return fail(ErrorKind::kInvalid, "line ", member.line, ": the key ", in_quotes(member.key), " is given twice");
    }
    keys.push_back(member.key);
  }
  return members;
}

Result<std::vector<YamlMember>> config_members(std::string_view text) {
  if (trim(text).starts_with('{')) {
    if (auto members = json_members(text); members || members.error().message.starts_with("line ")) return members;
    // Not JSON: the YAML reader takes it, or says in which line it is wrong.
  }
  return parse_yaml_members(text);
}

// A scalar of the file as the text that the flag reads; nothing where the kinds do not go together.
std::optional<std::string> scalar_text(const Json& value, bool text_wanted) {
  if (value.is_string()) return value.as_string();
  // A text that looks like a number may have been changed by the reader (007, 1e3): only quoted it is what it was.
  if (text_wanted || value.is_null() || value.is_array() || value.is_object()) return std::nullopt;
  return value.dump();
}

}  // namespace

Result<void> Flags::read_config(std::string_view path, std::string_view text, Sources& sources) const {
  if (text.size() > kConfigBytesMax) {
    return fail(ErrorKind::kInvalid, path, ": ", text.size(), " bytes; the limit is ", kConfigBytesMax);
  }
  auto members = config_members(text);
  if (!members) {
    const std::string& why = members.error().message;
    return fail(ErrorKind::kInvalid, path, why.starts_with("line ") ? " " : ": ", why);
  }
  for (const YamlMember& member : *members) {
    const std::string place = cat(path, " line ", member.line);
    const Flag* flag = find(member.key);
    if (flag == nullptr) {
      return fail(ErrorKind::kInvalid, place, ": unknown key ", in_quotes(member.key), did_you_mean(member.key, ""));
    }
    if (flag->name_ != member.key) {
      return fail(ErrorKind::kInvalid, place, ": ", in_quotes(member.key), " is the flag's other name; write ",
                  flag->name_);
    }
    if (flag->name_ == kConfigFlag) {
      return fail(ErrorKind::kInvalid, place, ": a configuration file cannot name another one");
    }
    Given given{{}, cat(place, ": ", member.key)};
    if (member.value.is_null()) {
      return fail(ErrorKind::kInvalid, given.place, ": no value; take the line out to have the default");
    }
    if (flag->kind_ == Flag::Kind::kList && member.value.is_array()) {
      for (const Json& element : member.value.as_array()) {
        auto piece = scalar_text(element, true);
        if (!piece) return fail(ErrorKind::kInvalid, given.place, ": every element must be a text; put it in quotes");
        given.values.push_back(std::move(*piece));
      }
    } else {
      const bool text_wanted = flag->kind_ == Flag::Kind::kText || flag->kind_ == Flag::Kind::kChoice ||
                               flag->kind_ == Flag::Kind::kList || flag->kind_ == Flag::Kind::kDuration;
      auto scalar = scalar_text(member.value, text_wanted);
      if (!scalar) {
        const bool nested = member.value.is_array() || member.value.is_object();
        return fail(ErrorKind::kInvalid, given.place, ": ",
                    nested ? "one value is wanted here, not a list or a mapping"
                           : "a text is wanted here; put the value in quotes");
      }
      if (flag->kind_ == Flag::Kind::kList) {
        given.values = pieces(*scalar);
      } else {
        given.values.push_back(std::move(*scalar));
      }
    }
    sources.config.emplace(flag, std::move(given));
  }
  return {};
}

Result<void> Flags::check(const Flag& flag, const Given& given) {
  const auto wrong = flag.read_(given.values, false);
  if (!wrong) return {};
  return fail(ErrorKind::kInvalid, given.place, ": ", flag.secret_ ? "the value" : in_quotes(join(given.values, ",")),
              " ",
              // A choice's suggestion would give away what was written.
              flag.secret_ ? std::string_view("is not valid") : std::string_view(*wrong));
}

Result<void> Flags::check_arguments(const Parsed& parsed) const {
  const std::size_t count = parsed.arguments.size();
  if (count > arguments_max_) {
    return fail(ErrorKind::kInvalid, "unexpected argument ", in_quotes(parsed.arguments[arguments_max_]));
  }
  if (count < arguments_min_) {
    return fail(ErrorKind::kInvalid, arguments_min_ - count, " more argument", arguments_min_ - count == 1 ? "" : "s",
                " wanted");
  }
  return {};
}

Result<Flags::Parsed> Flags::parse(std::span<const std::string> args, const Environment& environment,
                                   const ReadFile& read_file) {
  for (const auto& flag : flags_) {
    // Here, because aliases are added after the flag is.
    for (const std::string& alias : flag->aliases_)
      TM_CHECK(find(alias) == flag.get(), "an alias is another flag's name");
  }
  Parsed parsed;
  Sources sources;
  TM_TRY_VOID(read_arguments(args, sources, parsed));
  if (parsed.help || parsed.version) return parsed;
  TM_TRY_VOID(read_environment(environment, sources));
  const Flag& config = *flags_.front();
  if (const Given* path = sources.winner(config); path != nullptr && !path->values.front().empty()) {
    const std::string& name = path->values.front();
    auto text = read_file(name);
    if (!text) return fail(std::move(text).error().within(path->place));
    TM_TRY_VOID(read_config(name, *text, sources));
  }

  for (const auto* source : {&sources.command_line, &sources.environment, &sources.config}) {
    for (const auto& flag : flags_) {
      if (const auto given = source->find(flag.get()); given != source->end()) TM_TRY_VOID(check(*flag, given->second));
    }
  }
  for (const auto& flag : flags_) {
    if (flag->required_ && sources.winner(*flag) == nullptr) {
      return fail(ErrorKind::kInvalid, "--", flag->name_, " is required (or environment ", flag->environment_name(),
                  ", or ", flag->name_, " in the configuration file)");
    }
  }
  TM_TRY_VOID(check_arguments(parsed));

  for (const auto& flag : flags_) {
    const Given* given = sources.winner(*flag);
    if (given != nullptr) flag->read_(given->values, true);
    std::string value = given != nullptr ? join(given->values, ",") : flag->default_;
    std::string from = given != nullptr ? given->place : "default";
    parsed.settings.push_back(
        {flag->name_, flag->secret_ && !value.empty() ? "(secret)" : std::move(value), std::move(from)});
  }
  return parsed;
}

}  // namespace tidemark::base
