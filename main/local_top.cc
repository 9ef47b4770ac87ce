#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/local/top.h"
#include "main/local.h"
#include "main/process.h"
#include "main/shared_flags.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kWidthElsewhere = 100;  // without a terminal
constexpr base::Duration kIntervalMin = std::chrono::milliseconds(200);
constexpr base::Duration kIntervalMax = std::chrono::hours(1);

struct Size {
  std::size_t width = kWidthElsewhere, height = 0;  // 0: unlimited
};

Size terminal_size() {
  winsize found{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0) return {};
  return {found.ws_col, found.ws_row};
}

// The alternate screen of the terminal, without cursor, line buffering and echo. The destructor restores the terminal.
class Screen {
 public:
  Screen() {
    changed_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (changed_) {
      termios now = before_;
      now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      now.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped program would leave the terminal in this mode
      ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
    }
    put_log(cli::LogStream::kOut, "\033[?1049h\033[?25l");
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() {
    put_log(cli::LogStream::kOut, "\033[?25h\033[?1049l");
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

  void draw(const cli::TopValues& values) const {
    const Size size = terminal_size();
    std::string out = "\033[H";
    bool first = true;
    for (const std::string& line : cli::top_screen(values, size.width, size.height)) {
      out += base::cat(first ? "" : "\r\n", line, "\033[K");
      first = false;
    }
    put_log(cli::LogStream::kOut, out + "\033[J");
  }

 private:
  termios before_{};
  bool changed_ = false;
};

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
  const Screen screen;
  net::Event wake(loop);
  bool quit = false;
  const net::FdWatch keys = loop.watch(STDIN_FILENO, net::kReadable, [&](std::uint32_t) {
    char typed[64];
    const ssize_t count = ::read(STDIN_FILENO, typed, sizeof typed);
    quit = quit || count <= 0 || std::string_view(typed, static_cast<std::size_t>(count)).contains('q');
    wake.set();
  });
  const net::FdWatch resized = loop.watch_signals({SIGWINCH}, [&](int) { screen.draw(shown); });
  while (!quit) {
    screen.draw(shown);
    wake.clear();
    if (co_await wake.wait_for(interval) && quit) break;
    auto next = co_await cli::read_top(loop, client, server);
    if (next) {
      shown = *std::move(next);
    } else {
      shown.trouble = cli::explained(std::move(next).error(), server).message;
    }
  }
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
  flags.duration("interval", interval, kIntervalMin, kIntervalMax, "refresh interval");
  flags.boolean("once", once, "show the state once and exit");
  declare_answer_flags(flags, form, server.limit);
  declare_log_flags(flags, log_options);
  flags.example("tidemark local top --interval=5s");
  flags.example("tidemark local top --once -o json | jq .cpu");
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1;
  if (once || form.json() || !terminal || terminal_size().width < cli::kTopWidthMin) {
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
