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
#include "base/line_writer.h"
#include "base/log.h"
#include "base/metrics.h"
#include "net/loop.h"

namespace tidemark::main {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUse = 2;
inline constexpr int kEndedBySignal = 128;  // and the signal's number, as shells do

struct LogOptions {
  base::LogLevel level = base::LogLevel::kInfo;
  base::LogFormat format = base::LogFormat::kText;
};
void declare_log_flags(base::Flags& flags, LogOptions& options);

// The process's log, on standard error. Nothing that logs ever waits for whoever reads it: what a full pipe does not
// take is dropped, and counted in `metrics`. Made first and gone last, so that the last lines come out.
class LogOutput {
 public:
  LogOutput(const base::Clock& clock, const LogOptions& options, base::Registry& metrics);
  base::Log named(std::string_view component) const { return log_.named(component); }

 private:
  base::LineWriter writer_;
  base::Log log_;
};

// Parses, and deals with --help, --version and wrong use. nullopt: go on; otherwise the exit code.
std::optional<int> parse_or_exit(base::Flags& flags, const std::vector<std::string>& args, base::Flags::Parsed& parsed);

std::string environment_or_empty(const char* name);
// All of it to standard output: kDone, or kFailed where it does not take it, which standard error tells.
int print(std::string_view text);
int failed(const Error& error);           // "tidemark: …" on standard error, after the log; answers kFailed
int wrong_use(std::string_view message);  // the same; answers kWrongUse
int wrong_use(std::string_view why, const base::Flags& flags);  // with the usage line
std::string host_identity(std::uint64_t seed);  // host name and a random part: one process of one machine

// Descriptors 0 to 2 that the process was started without must not become somebody's file or socket. Reading and
// writing them fails, as it would. And a program that ends by an exception says its last lines too. First thing of all.
void prepare_process();

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
int run_agent(const std::vector<std::string>& args);
int run_incident(const std::vector<std::string>& args);
int run_yarn_copilot(const std::vector<std::string>& args);
int run_yarn_operator(const std::vector<std::string>& args);
int run_generate(const std::vector<std::string>& args);
int run_explain(const std::vector<std::string>& args);
int run_replay(const std::vector<std::string>& args);
int run_plan(const std::vector<std::string>& args);
int run_check(const std::vector<std::string>& args);
int run_list(const std::vector<std::string>& args);
int run_report(const std::vector<std::string>& args);
int run_undo(const std::vector<std::string>& args);
int run_hold(const std::vector<std::string>& args);
int run_resume(const std::vector<std::string>& args);
int run_up(const std::vector<std::string>& args);
int run_local(const std::vector<std::string>& args);
int run_off(const std::vector<std::string>& args);
int run_on(const std::vector<std::string>& args);
int run_observe(const std::vector<std::string>& args);
int run_override(const std::vector<std::string>& args);
int run_preview(const std::vector<std::string>& args);
int run_doctor(const std::vector<std::string>& args);

}  // namespace tidemark::main
