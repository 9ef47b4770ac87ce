// `tidemark local run`: makes the Pod or Job of a command.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/local/run_object.h"
#include "kube/client.h"
#include "net/task.h"

namespace tidemark::cli {

// kAlreadyExists: a task has that name.
net::Task<Result<void>> run_local(kube::Client& client, RunOptions options, base::Duration limit);

}  // namespace tidemark::cli
