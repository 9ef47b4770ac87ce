// Any command line, variable and configuration file: accepted or refused with a reason; nothing assigned when refused,
// nothing outside its range when accepted, and no secret in an error.
#include "base/check.h"

#include <algorithm>
#include "base/flags.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::base;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // Lines up to the first empty one are arguments; the next one is a variable; the rest is the file.
  const std::size_t end_of_args = std::min(input.find("\n\n"), input.size());
  std::vector<std::string> args;
  for (const std::string_view arg : split(input.substr(0, end_of_args), '\n')) args.emplace_back(arg);
  const std::string_view rest = input.substr(std::min(end_of_args + 2, input.size()));
  const std::size_t end_of_variable = std::min(rest.find('\n'), rest.size());
  const std::string variable(rest.substr(0, end_of_variable));
  const std::string file(rest.substr(std::min(end_of_variable + 1, rest.size())));

  std::string listen = "unset", level = "info", token;
  bool elect = true;
  std::int64_t workers = 2;
  double rate = 0.5;
  Duration period = std::chrono::seconds(30);
  std::vector<std::string> gates{"a"};
  Flags flags("program", "Fuzzed.");
  flags.text("listen", listen, "text").alias("l");
  flags.boolean("elect", elect, "bool");
  flags.integer("workers", workers, 1, 64, "integer");
  flags.number("rate", rate, 0, 1, "number");
  flags.duration("period", period, std::chrono::seconds(1), std::chrono::hours(1), "duration");
  flags.choice("level", level, {"debug", "info"}, "choice");
  flags.list("gates", gates, "list");
  flags.text("token", token, "secret").secret();
  flags.arguments("NAME...", 0, 3);

  const auto parsed = flags.parse(
      args,
      [&](std::string_view name) -> std::optional<std::string> {
        if (name == "TIDEMARK_CONFIG") return "file";
        if (name == "TIDEMARK_TOKEN") return "hunter2hunter2";
        return name == "TIDEMARK_GATES" || name == "TIDEMARK_PERIOD" ? std::optional(variable) : std::nullopt;
      },
      [&](std::string_view) -> Result<std::string> { return file; });

  TM_CHECK(workers >= 1 && workers <= 64 && rate >= 0 && rate <= 1, "in range, whatever came");
  TM_CHECK(period >= std::chrono::seconds(1) && period <= std::chrono::hours(1), "in range, whatever came");
  TM_CHECK(level == "debug" || level == "info", "one of the words");
  if (!parsed) {
    TM_CHECK(!parsed.error().message.empty(), "an error says why");
    TM_CHECK(listen == "unset" && elect && workers == 2 && gates.size() == 1 && token.empty(), "nothing half-applied");
  } else {
    TM_CHECK(parsed->arguments.size() <= 3, "as many as declared");
    for (const Flags::Setting& setting : parsed->settings) {
      TM_CHECK(setting.name != "token" || setting.value.empty() || setting.value == "(secret)",
               "secrets are not shown");
    }
  }
  return 0;
}
