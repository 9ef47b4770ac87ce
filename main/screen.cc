#include "main/screen.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "base/text.h"
#include "main/local.h"
#include "main/process.h"

namespace tidemark::main {
namespace {

std::string_view colour_of(cli::Look look) {
  switch (look) {
    case cli::Look::kPlain:
      return "";
    case cli::Look::kTitle:
      return "\033[1m";
    case cli::Look::kChosen:
      return "\033[7m";
    case cli::Look::kBad:
      return "\033[31m";
    case cli::Look::kWarn:
      return "\033[33m";
  }
  return "";
}

// The alternate screen of the terminal, without cursor, line buffering and echo. The destructor restores the terminal.
class Screen {
 public:
  Screen() : coloured_(environment_or_empty("NO_COLOR").empty()) {
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

  void draw(const std::vector<cli::ScreenLine>& lines) const {
    std::string out = "\033[H";
    bool first = true;
    for (const cli::ScreenLine& line : lines) {
      const std::string_view colour = coloured_ ? colour_of(line.look) : std::string_view();
      out += base::cat(first ? "" : "\r\n", colour, line.text, colour.empty() ? "" : "\033[0m", "\033[K");
      first = false;
    }
    put_log(cli::LogStream::kOut, out + "\033[J");
  }

 private:
  termios before_{};
  bool changed_ = false;
  bool coloured_;
};

}  // namespace

TerminalSize terminal_size() {
  winsize found{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0) return {};
  return {found.ws_col, found.ws_row};
}

bool has_screen() {
  return ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1 && environment_or_empty("TERM") != "dumb" &&
         terminal_size().width >= cli::kScreenWidthMin;
}

net::Task<void> show_screen(net::EventLoop& loop, net::Event& wake, base::Duration interval, ScreenParts parts) {
  const Screen screen;
  bool quit = false;
  const net::FdWatch keys = loop.watch(STDIN_FILENO, net::kReadable, [&](std::uint32_t) {
    char typed[256];
    const ssize_t count = ::read(STDIN_FILENO, typed, sizeof typed);
    quit = quit || count <= 0;
    if (count > 0) {
      for (const cli::Key& key : cli::parse_keys({typed, static_cast<std::size_t>(count)})) {
        quit = quit || !parts.press(key);
      }
    }
    wake.set();
  });
  const net::FdWatch resized = loop.watch_signals({SIGWINCH}, [&](int) { screen.draw(parts.lines(terminal_size())); });
  while (!quit) {
    screen.draw(parts.lines(terminal_size()));
    wake.clear();
    if (co_await wake.wait_for(interval) && quit) break;
    co_await parts.refresh();
  }
}

}  // namespace tidemark::main
