#include "agent/evict/last_words.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/evict/plain_name.h"
#include "base/fd.h"
#include "base/text.h"
#include "journal/append.h"
#include "linux/kernel_files.h"
#include "net/deadline.h"

namespace tidemark::agent {
namespace {

constexpr std::string_view kLogEnd = ".log";
constexpr int kSameNameMax = 100;                       // within one second
constexpr mode_t kFolderMode = 0700, kFileMode = 0600;  // logs may contain secrets of their owner

// "20261122T200000Z": sorts by time.
std::string stamp(base::WallTime at) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(at.since_epoch).count();
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc)};
}

// All names in a folder, up to a limit; none if it cannot be listed.
std::vector<std::string> names_in(int directory, std::size_t most) {
  std::vector<std::string> out;
  const int fd = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return out;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd), ::closedir);
  if (!stream) {
    ::close(fd);
    return out;
  }
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (out.size() == most) break;
    out.emplace_back(name);
  }
  std::ranges::sort(out);
  return out;
}

// The log with the highest number: the kubelet counts the starts of a container.
std::optional<std::string> newest_log(int container) {
  std::optional<std::uint64_t> newest;
  for (const std::string& name : names_in(container, kLastWordsNamesMax)) {
    if (!name.ends_with(kLogEnd)) continue;
    const auto number = base::parse_uint(std::string_view(name).substr(0, name.size() - kLogEnd.size()));
    if (number && (!newest || *number > *newest)) newest = number;
  }
  if (!newest) return std::nullopt;
  return base::cat(*newest, kLogEnd);
}

// The end of a plain file, from the start of a line. nullopt: not a plain file.
Result<std::optional<std::string>> read_end(int container, const std::string& name, const linux::Place& place) {
  const Fd fd(::openat(container, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && (errno == ENOENT || errno == ELOOP)) return std::nullopt;
  struct stat found{};
  if (!fd || ::fstat(fd.get(), &found) != 0) return base::fail_errno(errno, base::cat("open ", place.text()));
  if (!S_ISREG(found.st_mode)) return std::nullopt;
  const auto most = static_cast<std::int64_t>(kLastWordsBytes);
  const std::int64_t from = std::max<std::int64_t>(found.st_size - most, 0);
  std::string text(static_cast<std::size_t>(found.st_size - from), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got =
        ::pread(fd.get(), text.data() + size, text.size() - size, from + static_cast<std::int64_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno(errno, base::cat("read ", place.text()));
    if (got == 0) break;  // the file was truncated
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  const std::size_t line = from > 0 ? text.find('\n') : std::string::npos;
  if (line != std::string::npos) text.erase(0, line + 1);
  return text;
}

struct Words {
  std::string container;
  std::string text;
};

Result<std::vector<Words>> words_of(const std::string& pod_logs, const std::string& pod) {
  std::vector<Words> out;
  TM_TRY(const auto root, linux::open_directory(pod_logs));
  if (!root) return out;
  TM_TRY(const auto folder, linux::open_beneath(root->fd.get(), pod, {pod_logs, pod, {}}));
  if (!folder) return out;
  std::vector<std::string> containers;
  TM_TRY([[maybe_unused]] const bool there, linux::list_folders(folder->fd.get(), containers, {pod_logs, pod, {}}));
  for (const std::string& container : containers) {
    if (out.size() == kLastWordsContainersMax) break;
    if (container.size() + kLogEnd.size() > kFileNameMax) continue;
    TM_TRY(const auto inside, linux::open_beneath(folder->fd.get(), container, {pod_logs, pod, container}));
    if (!inside) continue;
    const auto log = newest_log(inside->fd.get());
    if (!log) continue;
    const std::string within = base::cat(container, "/", *log);
    TM_TRY(auto text, read_end(inside->fd.get(), *log, {pod_logs, pod, within}));
    if (text) out.push_back({container, std::move(*text)});
  }
  return out;
}

std::int64_t bytes_in(int directory) {
  std::int64_t bytes = 0;
  for (const std::string& name : names_in(directory, kLastWordsNamesMax)) {
    struct stat found{};
    if (::fstatat(directory, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) bytes += found.st_size;
  }
  return bytes;
}

// Removes a folder of files, as we create them. A folder with other content stays.
bool remove_folder(int parent, const std::string& name) {
  const auto folder = linux::open_beneath(parent, name, {{}, {}, name});
  if (!folder || !*folder) return false;
  for (const std::string& file : names_in((*folder)->fd.get(), kLastWordsNamesMax)) {
    ::unlinkat((*folder)->fd.get(), file.c_str(), 0);
  }
  return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0;
}

// Makes room for one more folder of `coming` bytes; returns how many were removed.
Result<std::size_t> make_room(int directory, const std::string& path, std::int64_t coming) {
  std::vector<std::string> names;  // the oldest first
  TM_TRY([[maybe_unused]] const bool there, linux::list_folders(directory, names, {path, {}, {}}));
  std::vector<std::int64_t> bytes;
  std::int64_t sum = coming;
  for (const std::string& name : names) {
    const auto folder = linux::open_beneath(directory, name, {path, name, {}});
    bytes.push_back(folder && *folder ? bytes_in((*folder)->fd.get()) : 0);
    sum += bytes.back();
  }
  std::size_t kept = names.size(), gone = 0;
  for (std::size_t i = 0; i < names.size() && (kept >= kLastWordsFoldersMax || sum > kLastWordsBytesMax); ++i) {
    if (!remove_folder(directory, names[i])) continue;
    sum -= bytes[i];
    --kept;
    ++gone;
  }
  return gone;
}

Result<linux::Directory> make_folder(int parent, const std::string& name, const linux::Place& place) {
  if (::mkdirat(parent, name.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    return base::fail_errno(errno, base::cat("make ", place.text()));
  }
  TM_TRY(auto made, linux::open_beneath(parent, name, place));
  if (!made) return fail(ErrorKind::kNotFound, place.text(), " is gone again");
  return std::move(*made);
}

// Two pods may have the same name: "b" in the namespace "a-c", and "c-b" in "a"; or two long names that were cut.
Result<std::string> make_own_folder(int parent, std::string_view wanted, const std::string& path) {
  for (int which = 1; which <= kSameNameMax; ++which) {
    const std::string more = which == 1 ? "" : base::cat("-", which);
    const std::string name = base::cat(wanted.substr(0, kFileNameMax - more.size()), more);
    if (::mkdirat(parent, name.c_str(), kFolderMode) == 0) return name;
    if (errno != EEXIST) return base::fail_errno(errno, base::cat("make ", path, "/", name));
  }
  return fail(ErrorKind::kExhausted, kSameNameMax, " pods have the name ", wanted, " in ", path);
}

Result<void> write_words(int folder, const Words& words, const std::string& epitaph, const std::string& path) {
  const std::string name = words.container + std::string(kLogEnd);
  const std::string place = base::cat(path, "/", name);
  const Fd file(
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kFileMode));
  if (!file) return base::fail_errno(errno, base::cat("open ", place));
  const bool cut = !words.text.empty() && !words.text.ends_with('\n');
  return journal::append_whole(file.get(), base::cat(words.text, cut ? "\n" : "", epitaph, "\n"), 0, place);
}

}  // namespace

std::string epitaph(model::Reason reason, policy::evict::EvictFeature feature, std::string_view seen) {
  std::string text = base::cat("evicted by tidemark: ", model::reason_id(reason), " ", model::reason_sentence(reason),
                               ", ", to_string(feature), seen.empty() ? "" : ", ", seen);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

Result<LastWordsKept> keep_last_words(const std::string& pod_logs, const std::string& state_dir,
                                      const Evicted& evicted) {
  const std::string pod = base::cat(evicted.ns, "_", evicted.name, "_", evicted.uid);
  if (!is_plain_name(evicted.ns) || !is_plain_name(evicted.name) || !is_plain_name(evicted.uid) ||
      !is_plain_name(pod)) {
    return fail(ErrorKind::kInvalid, "expected a pod with a log directory, found ", base::in_quotes(pod));
  }
  TM_TRY(const std::vector<Words> words, words_of(pod_logs, pod));
  LastWordsKept kept;
  if (words.empty()) return kept;

  TM_TRY(const auto state, linux::open_directory(state_dir));
  if (!state) return fail(ErrorKind::kNotFound, "the folder ", state_dir, " does not exist");
  const std::string all = base::cat(state_dir, "/evicted");
  TM_TRY(const linux::Directory directory, make_folder(state->fd.get(), "evicted", {all, {}, {}}));
  std::int64_t coming = 0;
  for (const Words& each : words) coming += static_cast<std::int64_t>(each.text.size() + evicted.epitaph.size() + 2);
  TM_TRY(kept.gone, make_room(directory.fd.get(), all, coming));
  const std::string wanted = base::cat(stamp(evicted.at), "-", evicted.ns, "-", evicted.name);
  TM_TRY(const std::string name, make_own_folder(directory.fd.get(), wanted, all));
  TM_TRY(const linux::Directory folder, make_folder(directory.fd.get(), name, {all, name, {}}));
  kept.folder = base::cat(all, "/", name);
  for (const Words& each : words) {
    TM_TRY_VOID(write_words(folder.fd.get(), each, evicted.epitaph, kept.folder));
    ++kept.containers;
  }
  return kept;
}

LastWords::LastWords(net::EventLoop& loop, net::WorkerPool& files, base::Log log, std::string pod_logs,
                     std::string state_dir)
    : loop_(loop),
      files_(files),
      log_(std::move(log)),
      pod_logs_(std::move(pod_logs)),
      state_dir_(std::move(state_dir)) {}

net::Task<bool> LastWords::keep(const model::Task& task, std::string epitaph) {
  if (state_dir_.empty() || task.kind != model::TaskKind::kPod) return keep_nothing();
  return keep_of({task.ns, task.name, task.identity.task, std::move(epitaph), loop_.clock().wall()});
}

net::Task<bool> LastWords::keep_nothing() {
  co_return false;
}

net::Task<bool> LastWords::keep_of(Evicted evicted) {
  using Kept = Result<LastWordsKept>;
  const std::string ns = evicted.ns, name = evicted.name;
  auto kept = co_await net::within<Kept>(
      loop_,
      files_.run<Kept>(loop_, [logs = pod_logs_, state = state_dir_,
                               of = std::move(evicted)] { return keep_last_words(logs, state, of); }),
      kLastWordsLimit, "keeping the last lines of a pod");
  if (kept && *kept) co_return (*kept)->containers > 0;
  log_.warn("cannot keep the last lines of an evicted pod",
            {{"namespace", ns}, {"name", name}, {"error", kept ? kept->error() : kept.error()}});
  co_return false;
}

}  // namespace tidemark::agent
