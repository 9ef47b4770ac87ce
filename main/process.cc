#include "main/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>

#include "base/text.h"
#include "kube/config.h"

namespace tidemark::main {
namespace {

// Longest time that a terminating process waits to write its last lines.
constexpr base::Duration kLastLinesLimit = std::chrono::milliseconds(100);

// Writes to standard error, after the log. Does not wait for a blocked reader.
void say(std::string_view text) {
  base::LineWriter::wait_until_written(base::LineWriter::kFatalLimit);
  base::write_within(STDERR_FILENO, text, base::LineWriter::kFatalLimit);
}

std::terminate_handler terminate_before() {
  static const std::terminate_handler before = std::get_terminate();  // prints the exception
  return before;
}

[[noreturn]] void terminate_after_last_lines() {
  base::LineWriter::wait_until_written(base::LineWriter::kFatalLimit);
  terminate_before()();
  std::abort();
}

Result<std::string> read_config_file(std::string_view path) {
  static const kube::Files files = kube::system_files();
  return files.read(std::string(path), base::Flags::kConfigBytesMax);
}

}  // namespace

void declare_log_flags(base::Flags& flags, LogOptions& options) {
  flags.group("Log");
  flags.choice("log-level", options.level,
               {{"debug", base::LogLevel::kDebug},
                {"info", base::LogLevel::kInfo},
                {"warn", base::LogLevel::kWarn},
                {"error", base::LogLevel::kError}},
               "lowest level to log");
  flags.choice("log-format", options.format, {{"text", base::LogFormat::kText}, {"json", base::LogFormat::kJson}},
               "format of a log line");
}

LogOutput::LogOutput(const base::Clock& clock, const LogOptions& options, base::Registry& metrics)
    : writer_(
          STDERR_FILENO,
          [&clock, format = options.format](std::uint64_t lines) {
            return base::log_line(clock.wall(), format, base::LogLevel::kWarn, "log",
                                  "log lines dropped because standard error was blocked", {{"lines", lines}});
          },
          metrics.counter("tidemark_log_lines_dropped_total", "Log lines dropped because standard error was blocked."),
          {}),
      log_(clock, {options.level, options.format, [this](std::string_view line) { writer_.write(line); }}) {}

std::optional<int> parse_or_exit(base::Flags& flags, const std::vector<std::string>& args,
                                 base::Flags::Parsed& parsed) {
  auto result = flags.parse(
      args,
      [](std::string_view name) -> std::optional<std::string> {
        const char* value = ::getenv(std::string(name).c_str());
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
      },
      read_config_file);
  if (!result) return wrong_use(result.error().message, flags);
  if (result->help) return print(flags.help());
  if (result->version) return print("tidemark " TIDEMARK_VERSION "\n");
  parsed = std::move(*result);
  return std::nullopt;
}

std::string environment_or_empty(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? "" : value;
}

int print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // another process that shares it made it non-blocking
      pollfd ready{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&ready, 1, -1);
      continue;
    }
    if (written < 0) return failed(base::fail_errno(errno, "writing to standard output").error());
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return kDone;
}

int failed(const Error& error) {
  say(base::cat("tidemark: ", error.message, "\n"));
  return kFailed;
}

int wrong_use(std::string_view message) {
  say(message);
  return kWrongUse;
}

int wrong_use(std::string_view why, const base::Flags& flags) {
  return wrong_use(base::cat("tidemark: ", why, "\nusage: ", flags.usage(), "\n"));
}

std::string host_identity(std::uint64_t seed) {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
  return base::cat(static_cast<const char*>(name), "_", seed);
}

void prepare_process() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns this number, the lowest free one. The opposite direction makes any use an error.
    ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  terminate_before();
  std::set_terminate(terminate_after_last_lines);
}

void raise_descriptor_limit() {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // on failure the old limit stays, and accepting pauses at it
}

Signals::Signals(net::EventLoop& loop) : loop_(loop) {
  // A closed log reader must not end the process; the write fails instead.
  ::signal(SIGPIPE, SIG_IGN);
  watch_ = loop_.watch_signals({SIGTERM, SIGINT}, [this](int signal) {
    if (received_ != 0) {
      base::LineWriter::wait_until_written(kLastLinesLimit);
      ::_exit(kEndedBySignal + signal);  // now: no destructor, no drain
    }
    received_ = signal;
    if (on_first_) on_first_();
  });
}

void Signals::run(const base::Log& log, std::function<net::Task<void>()> drain) {
  net::Scope scope(loop_);
  auto drain_then_stop = [this, &drain]() -> net::Task<void> {
    co_await drain();
    loop_.stop();
  };
  on_first_ = [&] {
    log.info("draining; a second signal stops at once", {{"signal", received_}});
    scope.spawn(drain_then_stop());
  };
  if (received_ != 0) on_first_();
  loop_.run();
  on_first_ = nullptr;
}

}  // namespace tidemark::main
