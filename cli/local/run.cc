#include "cli/local/run.h"

#include <utility>

#include "base/text.h"
#include "cli/get.h"

namespace tidemark::cli {
namespace {

Error name_taken(const RunOptions& options) {
  return {ErrorKind::kAlreadyExists,
          base::cat("there is a task ", options.name,
                    " already: choose another --name, or end it with `tidemark local stop ", options.name, "`"),
          0, 0};
}

}  // namespace

net::Task<Result<void>> run_local(kube::Client& client, RunOptions options, base::Duration limit) {
  TM_CO_TRY(auto object, run_object(options));
  // Pods and jobs have names of their own; for whoever stops or reads one they are the same.
  const kube::Resource other = options.online() ? kube::kJobs : kube::kPods;
  TM_CO_TRY(const auto there, co_await get_if_there(client, other, options.ns, options.name, limit));
  if (there) co_return std::unexpected(name_taken(options));
  kube::WriteOptions write;
  write.ns = options.ns;
  auto made = co_await client.create(object.resource, std::move(object.body), std::move(write), "", limit);
  if (made) co_return Result<void>();
  if (made.error().kind == ErrorKind::kAlreadyExists) co_return std::unexpected(name_taken(options));
  co_return std::unexpected(std::move(made).error());
}

}  // namespace tidemark::cli
