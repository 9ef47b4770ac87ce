#include "runtime/pods/kept_logs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "journal/whole_file.h"

namespace tidemark::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJobFile = ".job";
constexpr std::size_t kUidBytesMax = 256;
constexpr std::size_t kPartsOfAName = 3;  // NAMESPACE_NAME_UID: none of them has an underscore

std::string job_file(const fs::path& folder) {
  return base::cat(folder.string(), "/", kJobFile);
}

// "": none.
std::string job_of(const fs::path& folder) {
  const auto text = journal::read_whole(job_file(folder), kUidBytesMax);
  return text && *text ? std::string(base::trim(**text)) : "";
}

using Age = std::pair<fs::file_time_type, fs::path>;

}  // namespace

Result<void> mark_logs_of_job(const std::string& folder, std::string_view job_uid) {
  if (job_of(folder) == job_uid) return {};
  TM_TRY_VOID(journal::write_whole(job_file(folder), base::cat(job_uid, "\n")));
  return {};
}

Result<void> sweep_logs(const std::string& dir, const LogOwners& owners) {
  std::map<std::string, std::vector<Age>> kept;  // by the uid of the Job
  std::vector<fs::path> ownerless;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    const std::string name = entry.path().filename();
    const auto parts = base::split(name, '_');
    if (parts.size() != kPartsOfAName || owners.pod_is_here(std::string(parts.back()))) continue;
    const std::string job = job_of(entry.path());
    if (job.empty() || !owners.job_is_here(job)) {
      ownerless.push_back(entry.path());
    } else {
      std::error_code unknown;  // then it is the oldest
      kept[job].emplace_back(fs::last_write_time(job_file(entry.path()), unknown), entry.path());
    }
  }
  for (auto& [job, pods] : kept) {
    if (pods.size() <= kGonePodsKept) continue;
    std::ranges::sort(pods);
    for (const Age& old : std::span(pods).first(pods.size() - kGonePodsKept)) ownerless.push_back(old.second);
  }
  Result<void> done;
  for (const fs::path& folder : ownerless) {
    std::error_code stays;
    fs::remove_all(folder, stays);
    if (stays && done) done = fail(ErrorKind::kIo, "remove ", folder.string(), ": ", stays.message());
  }
  return done;
}

}  // namespace tidemark::runtime
