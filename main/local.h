// What the commands of `tidemark local` share: where the server is, and one connection to it.
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

// Runs a command to its end and answers its exit code. With `on_signal` SIGINT and SIGTERM end it in order, and that is
// told first.
int with_local(const cli::LocalServer& server, const LogOptions& log_options,
               const std::function<net::Task<int>(net::EventLoop&, kube::Client&)>& command,
               const std::function<void()>& on_signal = nullptr);

// The same for a command that goes on where nobody serves: its client may be null.
int with_local_if_there(const cli::LocalServer& server, const LogOptions& log_options,
                        const std::function<net::Task<int>(net::EventLoop&, kube::Client*)>& command);

// What a command answered: prints it, or what went wrong.
int tell(const Result<std::string>& answer, const cli::LocalServer& server);

// What a task wrote, by its stream.
void put_log(cli::LogStream stream, std::string_view text);

int run_local_run(const std::vector<std::string>& args);
int run_local_logs(const std::vector<std::string>& args);
int run_local_ps(const std::vector<std::string>& args);
int run_local_stop(const std::vector<std::string>& args);
int run_local_top(const std::vector<std::string>& args);

}  // namespace tidemark::main
