// `tidemark explain workload NAMESPACE/KIND/NAME`: what one of its pods uses by the hour of the day, as the manager has
// learned and stored it, what that rests on, and what would be recommended.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/explain.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::cli {

// The whole output; `options.node` is the workload. Errors name what could not be read, and what was not found.
net::Task<Result<std::string>> explain_workload(net::EventLoop& loop, kube::Client& client, ExplainOptions options);

}  // namespace tidemark::cli
