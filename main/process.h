// The environment of a sub-command: real clock, environment variables, files, standard output, signals.
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
inline constexpr int kEndedBySignal = 128;  // plus the signal number, as in shells

struct LogOptions {
  base::LogLevel level = base::LogLevel::kInfo;
  base::LogFormat format = base::LogFormat::kText;
};
void declare_log_flags(base::Flags& flags, LogOptions& options);

// The process's log, on standard error. Logging never waits: lines that a full pipe rejects are dropped and counted in
// `metrics`. Create it first and destroy it last, so that the last lines are written.
class LogOutput {
 public:
  LogOutput(const base::Clock& clock, const LogOptions& options, base::Registry& metrics);
  base::Log named(std::string_view component) const { return log_.named(component); }

 private:
  base::LineWriter writer_;
  base::Log log_;
};

// Parses, and handles --help, --version and wrong use. nullopt: continue; otherwise the exit code.
std::optional<int> parse_or_exit(base::Flags& flags, const std::vector<std::string>& args, base::Flags::Parsed& parsed);

std::string environment_or_empty(const char* name);
// Writes all of it to standard output. Returns kDone, or prints an error and returns kFailed.
int print(std::string_view text);
int failed(const Error& error);           // "tidemark: …" on standard error, after the log; returns kFailed
int wrong_use(std::string_view message);  // the same; returns kWrongUse
int wrong_use(std::string_view why, const base::Flags& flags);  // with the usage line
std::string host_identity(std::uint64_t seed);                  // host name and a random part: unique per process

// Call it first. Opens missing descriptors 0 to 2, so that no file or socket gets these numbers; reading and writing
// them fails. Also writes the last log lines when an exception ends the program.
void prepare_process();

// Raises the descriptor limit to the system's maximum: the default of 1024 is too low for a server with many watches.
void raise_descriptor_limit();

// Runs `loop` until SIGTERM or SIGINT, then `drain`; a second signal ends the process at once. Create it before any
// other thread, so that this thread gets the signals.
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

// The sub-commands; each returns the exit code.
int run_manager(const std::vector<std::string>& args);
int run_agent(const std::vector<std::string>& args);
int run_incident(const std::vector<std::string>& args);
int run_yarn_copilot(const std::vector<std::string>& args);
int run_yarn_operator(const std::vector<std::string>& args);
int run_explain_run(const std::vector<std::string>& args);
int run_spark(const std::vector<std::string>& args);
int run_spark_submit(const std::vector<std::string>& args);  // tidemark-spark-submit: no sub-command
int run_gateway(const std::vector<std::string>& args);
int run_generate(const std::vector<std::string>& args);
int run_explain(const std::vector<std::string>& args);
int run_replay(const std::vector<std::string>& args);
int run_plan(const std::vector<std::string>& args);
int run_console(const std::vector<std::string>& args);
int run_check(const std::vector<std::string>& args);
int run_list(const std::vector<std::string>& args);
int run_report(const std::vector<std::string>& args);
int run_uninstall(const std::vector<std::string>& args);
int run_undo(const std::vector<std::string>& args);
int run_pause(const std::vector<std::string>& args);
int run_resume(const std::vector<std::string>& args);
int run_top(const std::vector<std::string>& args);
int run_up(const std::vector<std::string>& args);
int run_local(const std::vector<std::string>& args);
int run_off(const std::vector<std::string>& args);
int run_on(const std::vector<std::string>& args);
int run_observe(const std::vector<std::string>& args);
int run_node(const std::vector<std::string>& args);
int run_override(const std::vector<std::string>& args);
int run_preview(const std::vector<std::string>& args);
int run_doctor(const std::vector<std::string>& args);
int run_doctor_yarn(const std::vector<std::string>& args);

}  // namespace tidemark::main
