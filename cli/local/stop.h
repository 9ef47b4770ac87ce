// `tidemark local stop`: ends tasks by name, whether they are jobs or pods.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::cli {

// One second, as kubectl has it: with none at all the object would be gone before its processes are.
inline constexpr std::int64_t kStopNowGrace_s = 1;

struct StopOptions {
  std::vector<std::string> names;
  std::string ns = "default";
  bool now = false;
  base::Duration wait{0};  // for all of it to have ended; 0: not at all
  base::Duration limit = std::chrono::seconds(30);
};

// The whole output. kNotFound: there is no task of one of the names, and none was stopped. kDeadline: something of them
// is still there.
net::Task<Result<std::string>> stop_local(net::EventLoop& loop, kube::Client& client, StopOptions options);

// Waits until none of the uids is there any more, nor a pod of one of them; whether that was so within `at_most`.
net::Task<Result<bool>> until_gone(net::EventLoop& loop, kube::Client& client, std::vector<std::string> uids,
                                   base::Duration at_most, base::Duration limit);

}  // namespace tidemark::cli
