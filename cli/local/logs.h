// `tidemark local logs`: what a task wrote, over its attempts, and on as it writes. From the files of the machine; the
// server is asked for whose they are and whether more is to come, and is not needed.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/local/log_text.h"
#include "cli/local/server.h"
#include "cli/local/tasks.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::cli {

inline constexpr base::Duration kLogLookEvery = std::chrono::milliseconds(200);
inline constexpr base::Duration kTaskLookEvery = std::chrono::seconds(1);

struct LogsOptions {
  LocalServer server;
  std::string name;
  std::string container;
  bool follow = false;
  bool previous = false;  // the attempt before the last one alone
  bool timestamps = false;
  std::optional<std::size_t> tail;
  std::optional<base::Duration> since;
  std::function<void(const LocalTask&)> on_look;  // while following: how it stands, each time that the server told
};

// The task at its end; nullopt: unknown, or deleted meanwhile. `client` may be null. kNotFound: no such task, or it
// wrote nothing and will not. Returns when the task ends.
net::Task<Result<std::optional<LocalTask>>> local_logs(net::EventLoop& loop, kube::Client* client, LogsOptions options,
                                                       LogText::Put put);

}  // namespace tidemark::cli
