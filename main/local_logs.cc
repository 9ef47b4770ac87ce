#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/local/logs.h"
#include "main/local.h"
#include "main/process.h"
#include "main/shared_flags.h"

namespace tidemark::main {
namespace {

constexpr std::int64_t kTailMax = 1'000'000;
constexpr base::Duration kSinceMax = std::chrono::hours(24 * 365);

}  // namespace

void put_log(cli::LogStream stream, std::string_view text) {
  const int fd = stream == cli::LogStream::kError ? STDERR_FILENO : STDOUT_FILENO;
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // another process that shares it made it non-blocking
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
      continue;
    }
    if (written < 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

int run_local_logs(const std::vector<std::string>& args) {
  base::Flags flags(
      "tidemark local logs",
      "Shows the output of a task over all attempts, its standard output and standard error on the same streams. "
      "Reads local files and needs no server. Exit codes: 0 shown, 1 failed, 2 wrong use.");
  cli::LogsOptions options;
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  std::int64_t tail = -1;
  base::Duration since{0};
  declare_local_flags(flags, options.server);
  declare_timeout_flag(flags, options.server.limit);
  flags.group("Logs");
  flags.boolean("follow", options.follow, "show new output until the task has ended, also of later attempts and pods")
      .alias("f");
  flags.boolean("previous", options.previous, "show only the attempt before the last one").alias("p");
  flags.integer("tail", tail, -1, kTailMax, "number of lines from the end; -1 shows all");
  flags.duration("since", since, base::Duration(0), kSinceMax, "longest age of a line; 0s shows all");
  flags.text("container", options.container, "container of a pod with several containers")
      .placeholder("NAME")
      .alias("c");
  flags.boolean("timestamps", options.timestamps, "start each line with its time");
  declare_log_flags(flags, log_options);
  flags.arguments("NAME", 1, 1);
  flags.example("tidemark local logs train-x7k2pq -f --tail=20");
  flags.example("tidemark local logs web --since=5m --timestamps");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (options.previous && options.follow)
    return wrong_use("--previous goes without --follow: that attempt has ended", flags);
  options.name = parsed.arguments[0];
  if (tail >= 0) options.tail = static_cast<std::size_t>(tail);
  if (since > base::Duration(0)) options.since = since;
  return with_local_if_there(
      options.server, log_options, [&](net::EventLoop& loop, kube::Client* client) -> net::Task<int> {
        auto shown = co_await cli::local_logs(loop, client, options, put_log);
        co_return shown ? kDone : failed(cli::explained(std::move(shown).error(), options.server));
      });
}

}  // namespace tidemark::main
