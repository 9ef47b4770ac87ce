// `tidemark explain config NODE`: which settings are in force on a node, field by field, and where each comes from.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/explain.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::cli {

// The whole output. Errors name what could not be read.
net::Task<Result<std::string>> explain_config(net::EventLoop& loop, kube::Client& client, ExplainOptions options);

}  // namespace tidemark::cli
