// Flags, environment and configuration file from one declaration, with one precedence:
//
//   command line  >  environment  >  configuration file  >  default
//
//   struct Options {
//     std::string listen = "127.0.0.1:8443";  // the default is what stands in the target
//     std::int64_t workers = 2;
//   } options;
//   Flags flags("tidemark manager", "Sells the idle cores of a cluster's nodes.");
//   flags.group("Serving");
//   flags.text("listen", options.listen, "address of the metrics page").placeholder("ADDRESS").alias("metrics-addr");
//   flags.integer("workers", options.workers, 1, 64, "reconciles at the same time");
//   TM_TRY(const auto parsed, flags.parse(args, env, read_file));
//
// The flag --leader-elect is TIDEMARK_LEADER_ELECT in the environment and leader-elect in the YAML or JSON file named
// by
// --config. Every source is checked, also where another outranks it, and nothing is assigned unless all is right.
// Errors name the place ("/etc/tidemark.yaml line 3: …") and never the value of a secret.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::base {

// What is said of a flag beside its type. One letter as an alias is a short flag: alias("o") accepts -o json.
class Flag {
 public:
  Flag& alias(std::string_view other_name);
  Flag& placeholder(std::string_view word);  // what stands for the value in the help text
  Flag& secret();                            // never shown: not in errors, help, nor settings
  Flag& hidden();                            // accepted, not in the help text
  Flag& required();                          // must come from somewhere
  Flag& verbatim();                          // of a list: what is given on the command line is one element, commas too

 private:
  friend class Flags;
  enum class Kind { kText, kBool, kInteger, kNumber, kDuration, kChoice, kList };
  // Checks the values, and assigns the target if requested; returns the error. All but lists get exactly one.
  using Read = std::function<std::optional<std::string>(std::span<const std::string> values, bool assign)>;

  bool answers_to(std::string_view name) const;
  std::string environment_name() const;

  std::string name_;
  std::string help_;
  std::string group_;
  std::string placeholder_;
  std::string default_;  // as text; empty for none
  std::string range_;    // "1..64"; empty for none
  std::vector<std::string> aliases_;
  Kind kind_ = Kind::kText;
  bool secret_ = false;
  bool hidden_ = false;
  bool required_ = false;
  bool verbatim_ = false;
  Read read_;
};

class Flags {
 public:
  static constexpr std::size_t kConfigBytesMax = 1 << 20;

  Flags(std::string_view program, std::string_view summary);
  Flags(Flags&&) = delete;

  // A heading of the help text for the flags that follow.
  void group(std::string_view title);

  // The targets must outlive parse(). A default outside its own range, or a name given twice, is a bug.
  Flag& text(std::string_view name, std::string& target, std::string_view help);
  Flag& boolean(std::string_view name, bool& target, std::string_view help);
  Flag& integer(std::string_view name, std::int64_t& target, std::int64_t min, std::int64_t max, std::string_view help);
  Flag& number(std::string_view name, double& target, double min, double max, std::string_view help);
  Flag& duration(std::string_view name, Duration& target, Duration min, Duration max, std::string_view help);
  Flag& choice(std::string_view name, std::string& target, std::initializer_list<std::string_view> words,
               std::string_view help);
  // Commas on the command line and in the environment, a list in the file. Given again on the command line, it grows.
  Flag& list(std::string_view name, std::vector<std::string>& target, std::string_view help);
  // The same with a meaning of its own: `read` answers the value, or what is wrong with the list. `shown` is the
  // default as a list.
  //   flags.list("plugins", options.plugins, "*", parse_plugins, "…")
  template <class T>
  Flag& list(std::string_view name, T& target, std::string_view shown, Result<T> (*read)(std::span<const std::string>),
             std::string_view help) {
    return add_list(name, shown, help, [&target, read](std::span<const std::string> values, bool assign) {
      auto value = read(values);
      if (!value) return std::optional<std::string>(base::cat("cannot be used: ", value.error().message));
      if (assign) target = *std::move(value);
      return std::optional<std::string>();
    });
  }
  // flags.choice("log-format", options.format, {{"text", LogFormat::kText}, {"json", LogFormat::kJson}}, "…")
  template <class Enum>
  Flag& choice(std::string_view name, Enum& target, std::initializer_list<std::pair<std::string_view, Enum>> words,
               std::string_view help) {
    std::vector<std::string> texts;
    std::vector<Enum> values;
    std::size_t chosen = words.size();
    for (const auto& [text, value] : words) {
      if (value == target && chosen == words.size()) chosen = texts.size();
      texts.emplace_back(text);
      values.push_back(value);
    }
    return add_choice(name, std::move(texts), chosen, [&target, values](std::size_t i) { target = values[i]; }, help);
  }

  // What may stand beside the flags, as the usage line shows it: arguments("NODE [NODE...]", 1, 100). Without this call
  // there may be none.
  void arguments(std::string_view usage, std::size_t min, std::size_t max);

  // An example call, shown at the end of the help text.
  void example(std::string_view call);

  struct Setting {
    std::string name;
    std::string value;  // "(secret)" for a secret
    std::string from;   // "default", "--listen", "environment TIDEMARK_LISTEN", "/etc/tidemark.yaml line 3"
  };
  struct Parsed {
    bool help = false;     // requested; nothing else was read
    bool version = false;  // the same
    std::vector<std::string> arguments;
    std::vector<Setting> settings;  // every flag, in the order of declaration: for the log and for `doctor`
  };
  // An empty variable counts as one that is not set: manifests make them by accident.
  using Environment = std::function<std::optional<std::string>(std::string_view name)>;
  using ReadFile = std::function<Result<std::string>(std::string_view path)>;
  // Pure except for the targets. `args` does not contain the program's name.
  Result<Parsed> parse(std::span<const std::string> args, const Environment& environment, const ReadFile& read_file);

  std::string help() const;   // at most 100 columns
  std::string usage() const;  // its first line

 private:
  struct Given;
  struct Sources;

  Flag& add(std::string_view name, Flag::Kind kind, std::string_view placeholder, std::string_view help);
  Flag& add_list(std::string_view name, std::string_view shown, std::string_view help, Flag::Read read);
  Flag& add_choice(std::string_view name, std::vector<std::string> words, std::size_t chosen,
                   std::function<void(std::size_t)> assign, std::string_view help);
  const Flag* find(std::string_view name) const;
  std::string did_you_mean(std::string_view name, std::string_view dashes) const;
  Result<void> read_arguments(std::span<const std::string> args, Sources& sources, Parsed& parsed) const;
  Result<void> read_environment(const Environment& environment, Sources& sources) const;
  Result<void> read_config(std::string_view path, std::string_view text, Sources& sources) const;
  Result<void> check_arguments(const Parsed& parsed) const;
  static Result<void> check(const Flag& flag, const Given& given);

  std::string program_;
  std::string summary_;
  std::string group_;
  std::vector<std::unique_ptr<Flag>> flags_;
  std::string config_path_;
  std::string arguments_usage_;
  std::vector<std::string> examples_;
  std::size_t arguments_min_ = 0;
  std::size_t arguments_max_ = 0;
};

}  // namespace tidemark::base
