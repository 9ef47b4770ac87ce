// What a sub-command gets of the world outside: the real clock, environment, files, standard output, signals.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/flags.h"
#include "base/log.h"
#include "net/loop.h"

namespace tidemark::main {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUse = 2;

struct LogOptions {
  base::LogLevel level = base::LogLevel::kInfo;
  base::LogFormat format = base::LogFormat::kText;
};
void declare_log_flags(base::Flags& flags, LogOptions& options);

// Parses, and deals with --help, --version and wrong use. nullopt: go on; otherwise the exit code.
std::optional<int> parse_or_exit(base::Flags& flags, const std::vector<std::string>& args, base::Flags::Parsed& parsed);

std::string environment_or_empty(const char* name);
void print(std::string_view text);                              // standard output
int failed(const Error& error);                                 // "tidemark: …" on standard error; answers kFailed
int wrong_use(std::string_view why, const base::Flags& flags);  // with the usage line; answers kWrongUse
std::string host_identity(std::uint64_t seed);  // host name and a random part: one process of one machine

// As many descriptors as the system lets us have: the default of 1024 is below what a server with many watches needs.
void raise_descriptor_limit();

// Runs `loop` until SIGTERM or SIGINT, then `drain`; a second signal ends the process at once. Made before any other
// thread, so that the signals come here.
class Signals {
 public:
  explicit Signals(net::EventLoop& loop);
  void run(const base::Log& log, std::function<net::Task<void>()> drain);

 private:
  net::EventLoop& loop_;
  net::FdWatch watch_;
  int received_ = 0;
  std::function<void()> on_first_;
};

// The sub-commands; each answers the exit code.
int run_manager(const std::vector<std::string>& args);
int run_explain(const std::vector<std::string>& args);
int run_up(const std::vector<std::string>& args);

}  // namespace tidemark::main
