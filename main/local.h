// Shared parts of the commands of `tidemark local`: server flags and one connection.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/flags.h"
#include "base/log.h"
#include "base/random.h"
#include "cli/local/log_text.h"
#include "cli/local/server.h"
#include "kube/client.h"
#include "main/process.h"
#include "net/loop.h"

namespace tidemark::main {

// Opens the group "Server".
void declare_local_flags(base::Flags& flags, cli::LocalServer& server);

// Runs a command and returns its exit code. With `on_signal`, SIGINT and SIGTERM first call it, then stop the command
// in order.
int with_local(const cli::LocalServer& server, const LogOptions& log_options,
               const std::function<net::Task<int>(net::EventLoop&, kube::Client&)>& command,
               const std::function<void()>& on_signal = nullptr);

// The same for a command that also works without a server: its client may be null.
int with_local_if_there(const cli::LocalServer& server, const LogOptions& log_options,
                        const std::function<net::Task<int>(net::EventLoop&, kube::Client*)>& command);

// Prints the text of a command, or its error.
int tell(const Result<std::string>& answer, const cli::LocalServer& server);

// Writes the output of a task to the same stream.
void put_log(cli::LogStream stream, std::string_view text);

int run_local_run(const std::vector<std::string>& args);
int run_local_logs(const std::vector<std::string>& args);
int run_local_ps(const std::vector<std::string>& args);
int run_local_stop(const std::vector<std::string>& args);
int run_local_top(const std::vector<std::string>& args);

}  // namespace tidemark::main
