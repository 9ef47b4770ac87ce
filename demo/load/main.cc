// tidemark_load: the open loop of requests that `./dev up` and the interference bench put on their web server.

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/json.h"
#include "base/text.h"
#include "demo/open_load.h"

namespace {

using tidemark::base::cat;
using tidemark::base::Duration;
using tidemark::base::Flags;
using tidemark::demo::LoadCounts;
using tidemark::demo::LoadOptions;

constexpr int done = 0, failed = 1, wrong_use = 2;

double microseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1000;
}

bool print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

int complain(std::string_view why, int code) {
  std::fprintf(stderr, "tidemark_load: %.*s\n", static_cast<int>(why.size()), why.data());
  return code;
}

// Monotonic clock of the machine, which other observers of the machine use too.
struct Window {
  tidemark::base::MonotonicTime from, to;
};

std::int64_t whole_microseconds(tidemark::base::MonotonicTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.since_start).count();
}

std::string line_of(std::optional<int> second, const LoadCounts& counts, std::optional<Window> window = {}) {
  std::string line;
  tidemark::base::JsonWriter json(line);
  json.begin_object();
  if (second) json.member("second", *second);
  if (window) json.member("from_us", whole_microseconds(window->from)).member("to_us", whole_microseconds(window->to));
  json.member("answers", static_cast<std::int64_t>(counts.answers));
  json.member("failures", static_cast<std::int64_t>(counts.failures));
  json.member("unanswered", static_cast<std::int64_t>(counts.unanswered));
  for (const auto& [name, share] : {std::pair("p50_us", 0.5), {"p90_us", 0.9}, {"p99_us", 0.99}, {"p999_us", 0.999}}) {
    json.member(name, microseconds(counts.latencies.percentile(share)));
  }
  json.member("max_us", microseconds(counts.latencies.highest()));
  json.member("late_p99_us", microseconds(counts.late.percentile(0.99)));
  json.member("late_p999_us", microseconds(counts.late.percentile(0.999)));
  json.end_object();
  line += '\n';
  return line;
}

tidemark::net::Task<void> run(tidemark::net::EventLoop& loop, tidemark::demo::OpenLoad& load, Duration length,
                              int& code) {
  const auto counts = co_await load.run();
  if (!counts) {
    code = complain(counts.error().message, failed);
  } else if (!print(line_of(std::nullopt, *counts, Window{load.counts_from(), load.counts_from() + length}))) {
    code = complain("standard output takes no more", failed);
  } else if (counts->answers == 0) {
    code = complain("not one request got an answer with status 200", failed);
  }
  loop.stop();
}

}  // namespace

int main(int argc, char** argv) {
  using std::chrono::hours, std::chrono::seconds;
  LoadOptions options;
  options.length = seconds(10);
  options.warm_up = seconds(1);
  options.patience = seconds(5);
  std::string url;
  std::int64_t connections = options.connections;
  std::int64_t seed = 1;
  Flags flags(
      "tidemark_load",
      "Sends HTTP requests at times that were drawn before, answered or not; a latency counts from the time at "
      "which its request was due. Prints a line of JSON for each second, then one for all, with when that was.");
  flags.text("url", url, "what is asked for").placeholder("http://ADDRESS:PORT/PATH").required();
  flags.number("rate", options.rate, 1, 1e6, "requests a second, at random times (Poisson)");
  flags.duration("length", options.length, seconds(1), hours(24), "how long is counted");
  flags.duration("warm-up", options.warm_up, Duration(0), hours(1), "how long before that is not");
  flags.integer("connections", connections, 1, 10'000,
                "at most so many requests on their way; the others wait for one, and their clocks run");
  flags.integer("seed", seed, 0, std::int64_t{1} << 53, "the same times once more");
  const std::vector<std::string> args(argv + 1, argv + argc);
  const auto parsed = flags.parse(
      args, [](std::string_view) { return std::optional<std::string>(); },
      [](std::string_view path) {
        return tidemark::fail(tidemark::ErrorKind::kUnsupported, "no file is read: ", path);
      });
  if (!parsed) return complain(cat(parsed.error().message, "\n", flags.usage()), wrong_use);
  if (parsed->help) return print(flags.help()) ? done : failed;
  if (parsed->version) return print("tidemark_load " TIDEMARK_VERSION "\n") ? done : failed;
  const auto target = tidemark::net::parse_url(url);
  if (!target) return complain(cat("--url: ", target.error().message), wrong_use);
  if (target->scheme != "http") return complain(cat("--url: wanted http://…, found `", url, "`"), wrong_use);
  options.url = *target;
  options.connections = static_cast<int>(connections);
  options.seed = static_cast<std::uint64_t>(seed);

  const tidemark::base::SystemClock clock;
  tidemark::net::EventLoop loop(clock);
  tidemark::demo::OpenLoad load(loop, options,
                                [](int second, const LoadCounts& counts) { print(line_of(second, counts)); });
  tidemark::net::Scope scope(loop);
  int code = done;
  scope.spawn(run(loop, load, options.length, code));
  loop.run();
  return code;
}
