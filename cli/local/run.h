// `tidemark local run`: makes the Pod or Job of a command.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/local/run_object.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::cli {

// Whether it took the place of a job that had ended, which is removed with its pods. kAlreadyExists: a task has that
// name that has not ended.
net::Task<Result<bool>> run_local(net::EventLoop& loop, kube::Client& client, RunOptions options, base::Duration limit);

}  // namespace tidemark::cli
