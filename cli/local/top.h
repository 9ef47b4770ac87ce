// `tidemark local top`: reads what its screen shows, from the API server and from the files of the machine.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/local/server.h"
#include "cli/local/top_screen.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::cli {

inline constexpr std::size_t kTopEvictedMax = 50;

net::Task<Result<TopValues>> read_top(net::EventLoop& loop, kube::Client& client, LocalServer server);

// Evicted tasks from the lines of an agent's audit: pods and copilots' containers, the last one first in both.
std::vector<TopRow> evicted_by(std::span<const std::string_view> lines);

}  // namespace tidemark::cli
