#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/local/top.h"
#include "main/local.h"
#include "main/process.h"
#include "main/screen.h"
#include "main/shared_flags.h"

namespace tidemark::main {
namespace {

net::Task<int> show_once(net::EventLoop& loop, kube::Client& client, const cli::LocalServer& server, bool json) {
  const auto values = co_await cli::read_top(loop, client, server);
  if (!values) co_return failed(cli::explained(values.error(), server));
  if (json) co_return print(cli::top_json(*values).dump_pretty() + "\n");
  co_return print(base::join(cli::top_screen(*values, terminal_size().width, 0), "\n") + "\n");
}

net::Task<int> show_on(net::EventLoop& loop, kube::Client& client, const cli::LocalServer& server,
                       base::Duration interval) {
  // If there is nothing to show, the terminal stays unchanged.
  auto values = co_await cli::read_top(loop, client, server);
  if (!values) co_return failed(cli::explained(std::move(values).error(), server));
  cli::TopValues shown = *std::move(values);
  net::Event wake(loop);
  ScreenParts parts;
  parts.lines = [&](TerminalSize size) {
    std::vector<cli::ScreenLine> lines;
    for (auto& line : cli::top_screen(shown, size.width, size.height)) lines.push_back({std::move(line)});
    return lines;
  };
  parts.press = [](const cli::Key& key) { return key.text != "q"; };
  parts.refresh = [&]() -> net::Task<void> {
    auto next = co_await cli::read_top(loop, client, server);
    if (next) {
      shown = *std::move(next);
    } else {
      shown.trouble = cli::explained(std::move(next).error(), server).message;
    }
  };
  co_await show_screen(loop, wake, interval, std::move(parts));
  co_return kDone;
}

}  // namespace

int run_local_top(const std::vector<std::string>& args) {
  base::Flags flags(
      "tidemark local top",
      "Shows the live state of the machine: water line, usage, sold amounts, limited, waiting and evicted tasks. "
      "q quits. Without a terminal, or in a narrow one, it shows the state once. Exit codes: 0 shown, 1 failed, "
      "2 wrong use.");
  cli::LocalServer server;
  AnswerForm form;
  LogOptions log_options;
  log_options.level = base::LogLevel::kError;
  base::Duration interval = std::chrono::seconds(2);
  bool once = false;
  declare_local_flags(flags, server);
  flags.group("Screen");
  flags.duration("interval", interval, kScreenIntervalMin, kScreenIntervalMax, "refresh interval");
  flags.boolean("once", once, "show the state once and exit");
  declare_answer_flags(flags, form, server.limit);
  declare_log_flags(flags, log_options);
  flags.example("tidemark local top --interval=5s");
  flags.example("tidemark local top --once -o json | jq .cpu");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (once || form.json() || !has_screen()) {
    return with_local(server, log_options, [&](net::EventLoop& loop, kube::Client& client) {
      return show_once(loop, client, server, form.json());
    });
  }
  // A signal stops the loop; the end of the task restores the screen.
  return with_local(
      server, log_options,
      [&](net::EventLoop& loop, kube::Client& client) { return show_on(loop, client, server, interval); }, [] {});
}

}  // namespace tidemark::main
