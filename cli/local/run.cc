#include "cli/local/run.h"

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/local/objects.h"
#include "cli/local/stop.h"
#include "operate/get.h"

namespace tidemark::cli {
namespace {

Error name_taken(const RunOptions& options) {
  return {ErrorKind::kAlreadyExists,
          base::cat("there is a task ", options.name,
                    " already: choose another --name, or end it with `tidemark local stop ", options.name, "`"),
          0, 0};
}

// A job that has ended makes room for the next one of its name: what runs each night finds that of the night before.
// Whether there was one.
net::Task<Result<bool>> clear_ended(net::EventLoop& loop, kube::Client& client, const RunOptions& options,
                                    base::Duration limit) {
  TM_CO_TRY(const auto bytes, co_await operate::get_if_there(client, kube::kJobs, options.ns, options.name, limit));
  if (!bytes) co_return false;
  TM_CO_TRY(const JobSeen job, decode_job_seen(*bytes));
  if (!job.ended() || job.deleted) co_return std::unexpected(name_taken(options));
  kube::WriteOptions write;
  write.ns = options.ns;
  write.propagation = "Background";
  const auto removed = co_await client.remove(kube::kJobs, job.name, job.uid, std::move(write), limit);
  // Another task got the name meanwhile.
  if (!removed && removed.error().kind == ErrorKind::kConflict) co_return std::unexpected(name_taken(options));
  if (!removed && removed.error().kind != ErrorKind::kNotFound) co_return std::unexpected(removed.error());
  // Its pods go with it, and are not to be taken for those of the new one.
  std::vector<std::string> uids{job.uid};
  TM_CO_TRY(const bool gone, co_await until_gone(loop, client, std::move(uids), limit, limit));
  if (gone) co_return true;
  co_return fail(ErrorKind::kDeadline, "pods of the ended job ", options.name, " are there still after ",
                 base::format_go_duration(limit), ": try again, or choose another --name");
}

}  // namespace

net::Task<Result<bool>> run_local(net::EventLoop& loop, kube::Client& client, RunOptions options,
                                  base::Duration limit) {
  TM_CO_TRY(auto object, run_object(options));
  // A pod and a Job may have the same name; `tidemark local` does not tell them apart.
  TM_CO_TRY(const auto pod, co_await operate::get_if_there(client, kube::kPods, options.ns, options.name, limit));
  if (pod) co_return std::unexpected(name_taken(options));
  TM_CO_TRY(const bool replaces, co_await clear_ended(loop, client, options, limit));
  kube::WriteOptions write;
  write.ns = options.ns;
  auto made = co_await client.create(object.resource, std::move(object.body), std::move(write), "", limit);
  if (made) co_return replaces;
  if (made.error().kind == ErrorKind::kAlreadyExists) co_return std::unexpected(name_taken(options));
  co_return std::unexpected(std::move(made).error());
}

}  // namespace tidemark::cli
