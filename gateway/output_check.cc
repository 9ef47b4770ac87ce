#include "gateway/output_check.h"

#include <utility>

#include "gateway/file_store.h"

namespace tidemark::gateway {
namespace {

// As Spark's readers decide it. A name with = is a partition.
bool is_hidden(const std::string& name) {
  return name.starts_with('.') || (name.starts_with('_') && !name.contains('='));
}

}  // namespace

net::Task<Result<bool>> OutputCheck::has_begun(std::string place, base::WallTime since) const {
  const bool of_machine = place.starts_with(kFileScheme);
  if (of_machine) place.erase(0, kFileScheme.size());
  TM_CO_TRY(const auto store, open_file_store(loop_, access_, place));
  if (of_machine) {
    const auto seen = co_await store->status("");
    if (!seen && seen.error().kind == ErrorKind::kNotFound) co_return true;
    if (!seen) co_return fail(seen.error());
  }
  const auto since_ms = std::chrono::duration_cast<std::chrono::milliseconds>(since.since_epoch).count();
  std::vector<std::string> folders = {""};
  for (std::size_t at = 0; at < folders.size(); ++at) {
    if (at == kOutputFoldersMax) co_return true;
    const std::string folder = folders[at];
    TM_CO_TRY(const auto files, co_await store->list(folder));
    for (const StoredFile& file : files) {
      if (is_hidden(file.name)) continue;
      if (file.folder) {
        folders.push_back(folder.empty() ? file.name : base::cat(folder, "/", file.name));
      } else if (file.modified_ms >= since_ms) {
        co_return true;
      }
    }
  }
  co_return false;
}

net::Task<Result<std::vector<std::string>>> OutputCheck::begun(SparkJob job, base::WallTime created) const {
  std::vector<std::string> out;
  for (const std::string& place : outputs_of(job)) {
    TM_CO_TRY(const bool has, co_await has_begun(place, created + -kClockMargin));
    if (has) out.push_back(place);
  }
  co_return out;
}

}  // namespace tidemark::gateway
