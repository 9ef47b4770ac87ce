#include "yarn_copilot/last_words.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "copilot/yarn_id.h"
#include "linux/kernel_files.h"
#include "model/reason.h"

namespace tidemark::yarn_copilot {
namespace {

constexpr const char* kLog = "stderr";

// The text of a known id, else the caller's own text.
std::string_view sentence_of(std::string_view id) {
  const auto reasons = model::all_reasons();
  const auto found = std::ranges::find(reasons, id, &model::ReasonInfo::id);
  return found == reasons.end() ? std::string_view() : found->sentence;
}

// The user may have replaced the log with a pipe (we do not wait for a reader) or with a hard link to another file.
bool is_own_log(int file, int folder) {
  struct stat of_file{}, of_folder{};
  return ::fstat(file, &of_file) == 0 && ::fstat(folder, &of_folder) == 0 && S_ISREG(of_file.st_mode) &&
         of_file.st_nlink == 1 && of_file.st_uid == of_folder.st_uid;
}

Result<void> append(int folder, std::string_view line) {
  const base::Fd file(::openat(folder, kLog, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file && errno == ENOENT) return fail(ErrorKind::kNotFound, "it has no ", kLog);
  if (!file) return base::fail_errno(errno, base::cat("open its ", kLog));
  if (!is_own_log(file.get(), folder)) {
    return fail(ErrorKind::kDenied, "its ", kLog, " is not a regular file of its user");
  }
  if (::write(file.get(), line.data(), line.size()) < 0) return base::fail_errno(errno, base::cat("write its ", kLog));
  return {};
}

}  // namespace

std::string last_words(std::string_view what_happened, const EndOrder& order, base::WallTime now) {
  std::string out = base::cat(base::format_rfc3339(now), " tidemark: this container ", what_happened);
  if (!order.reason.empty()) out += base::cat(": ", order.reason);
  if (const auto sentence = sentence_of(order.reason); !sentence.empty()) out += base::cat(", ", sentence);
  out += base::cat(" (by ", order.asker, ")\n");
  return out;
}

Result<void> write_last_words(const std::vector<std::string>& folders, std::string_view container,
                              std::string_view line) {
  const auto yarn = copilot::parse_yarn_container(container);
  if (!yarn) return fail(ErrorKind::kInvalid, base::in_quotes(container), " is not a YARN container id");
  const std::string below = base::cat(yarn->application, "/", container);
  for (const std::string& folder : folders) {
    TM_TRY(const auto top, linux::open_directory(folder));
    if (!top) continue;
    TM_TRY(const auto own, linux::open_beneath(top->fd.get(), below, {"a log folder of the NodeManager", {}, below}));
    if (!own) continue;
    const auto written = append(own->fd.get(), line);
    if (written || written.error().kind != ErrorKind::kNotFound) return written;
  }
  return fail(ErrorKind::kNotFound, "the container ", container, " has no ", kLog, " in the NodeManager's log folders");
}

}  // namespace tidemark::yarn_copilot
