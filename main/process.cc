#include "main/process.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "kube/config.h"

namespace tidemark::main {
namespace {

// A second signal means now: no destructor, no drain. The shell's convention for "ended by a signal".
constexpr int kEndedBySignal = 128;

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
               "least important line to write");
  flags.choice("log-format", options.format, {{"text", base::LogFormat::kText}, {"json", base::LogFormat::kJson}},
               "form of a line");
}

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
  if (result->help) {
    print(flags.help());
    return kDone;
  }
  if (result->version) {
    print("tidemark " TIDEMARK_VERSION "\n");
    return kDone;
  }
  parsed = std::move(*result);
  return std::nullopt;
}

std::string environment_or_empty(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? "" : value;
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int failed(const Error& error) {
  std::fputs(base::cat("tidemark: ", error.message, "\n").c_str(), stderr);
  return kFailed;
}

int wrong_use(std::string_view why, const base::Flags& flags) {
  std::fputs(base::cat("tidemark: ", why, "\nusage: ", flags.usage(), "\n").c_str(), stderr);
  return kWrongUse;
}

std::string host_identity(std::uint64_t seed) {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
  return base::cat(static_cast<const char*>(name), "_", seed);
}

void raise_descriptor_limit() {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // where it is refused the old one holds, and accepting pauses at it
}

Signals::Signals(net::EventLoop& loop) : loop_(loop) {
  // A log that nobody reads any more is no reason to die: the write fails instead.
  ::signal(SIGPIPE, SIG_IGN);
  watch_ = loop_.watch_signals({SIGTERM, SIGINT}, [this](int signal) {
    if (received_ != 0) ::_exit(kEndedBySignal + signal);
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
    log.info("draining; a second signal ends at once", {{"signal", received_}});
    scope.spawn(drain_then_stop());
  };
  if (received_ != 0) on_first_();
  loop_.run();
  on_first_ = nullptr;
}

}  // namespace tidemark::main
