#include "cli/local/log_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "cli/local/cri_line.h"

namespace tidemark::cli {
namespace {

using base::cat;

constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr std::size_t kFirstLine = std::size_t{4} << 10;  // bytes that are looked at for the time of a file
constexpr std::size_t kPodSuffix = 5;                     // letters behind a job's name
constexpr std::size_t kPodNameMax = 63;
constexpr std::int64_t kRotatedMax = 1000;
constexpr std::string_view kLogEnd = ".log";
constexpr base::WallTime kNever{base::Duration::max()};

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  const auto close = [](DIR* dir) { ::closedir(dir); };
  const std::unique_ptr<DIR, decltype(close)> dir(::opendir(folder.c_str()), close);
  if (!dir) return out;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") out.emplace_back(name);
  }
  std::ranges::sort(out);
  return out;
}

struct PodFolder {
  std::string ns, pod, uid;
};

// Neither names nor uids have an underscore.
std::optional<PodFolder> parse_folder(std::string_view name) {
  const auto parts = base::split(name, '_');
  if (parts.size() != 3) return std::nullopt;
  return PodFolder{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

// A long name of a job is cut for its pods.
bool is_pod_of_job(std::string_view pod, std::string_view job) {
  job = job.substr(0, kPodNameMax - 1 - kPodSuffix);
  if (pod.size() != job.size() + 1 + kPodSuffix || !pod.starts_with(job) || pod[job.size()] != '-') return false;
  return pod.find('-', job.size() + 1) == std::string_view::npos;
}

bool has(const std::vector<std::string>& list, std::string_view one) {
  return std::ranges::find(list, one) != list.end();
}

bool is_of(const PodFolder& folder, const LogSubject& subject) {
  if (folder.ns != subject.ns) return false;
  if (has(subject.pods, folder.uid)) return true;
  if (has(subject.others, folder.uid)) return false;
  return subject.job ? is_pod_of_job(folder.pod, subject.name) : folder.pod == subject.name;
}

std::string rotated(const std::string& path, std::int64_t number) {
  return number == 0 ? path : cat(path, ".", number);
}

// How many files stand before the one that is written.
std::int64_t rotated_of(const std::string& path) {
  std::int64_t number = 0;
  while (number < kRotatedMax && ::access(rotated(path, number + 1).c_str(), F_OK) == 0) ++number;
  return number;
}

base::WallTime first_time(const std::string& path) {
  const Fd file(::open(rotated(path, rotated_of(path)).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return kNever;
  char bytes[kFirstLine];
  const ssize_t count = ::pread(file.get(), bytes, sizeof bytes, 0);
  if (count <= 0) return kNever;
  const std::string_view text(bytes, static_cast<std::size_t>(count));
  const auto line = parse_cri_line(text.substr(0, text.find('\n')));
  return line ? line->time : kNever;
}

void add_attempts(const std::string& root, const std::string& folder, const PodFolder& of, const LogSubject& subject,
                  std::vector<LogAttempt>& out) {
  for (const std::string& container : names_in(cat(root, "/", folder))) {
    if (!subject.container.empty() && container != subject.container) continue;
    const std::string place = cat(root, "/", folder, "/", container);
    for (const std::string& file : names_in(place)) {
      if (!file.ends_with(kLogEnd)) continue;
      const auto number = base::parse_int(std::string_view(file).substr(0, file.size() - kLogEnd.size()));
      if (!number || *number < 0) continue;
      LogAttempt attempt{of.pod, of.uid, container, *number, cat(place, "/", file), {}};
      attempt.began = first_time(attempt.path);
      out.push_back(std::move(attempt));
    }
  }
}

}  // namespace

Result<std::vector<LogAttempt>> find_attempts(const LogSubject& subject) {
  std::vector<LogAttempt> out;
  for (const std::string& folder : names_in(subject.root)) {
    const auto of = parse_folder(folder);
    if (of && is_of(*of, subject)) add_attempts(subject.root, folder, *of, subject, out);
  }
  if (subject.job) {
    std::erase_if(
        out, [&](const LogAttempt& one) { return one.began < subject.since_created && !has(subject.pods, one.uid); });
  }
  std::ranges::sort(out, {}, [](const LogAttempt& one) { return std::tie(one.began, one.pod, one.number); });
  // Of pods that had the same name one after the other only the last one is meant.
  if (!subject.job && !out.empty()) {
    const std::string uid = subject.pods.empty() ? out.back().uid : subject.pods.back();
    std::erase_if(out, [&](const LogAttempt& one) { return one.uid != uid; });
  }
  std::set<std::string> containers;
  for (const LogAttempt& one : out) containers.insert(one.container);
  if (containers.size() > 1) {
    const std::vector<std::string> names(containers.begin(), containers.end());
    return fail(ErrorKind::kInvalid, subject.name, " has several containers: --container names one of ",
                base::join(names, ", "));
  }
  return out;
}

void LogFiles::look(const std::vector<LogAttempt>& attempts, const Take& take) {
  for (auto& [key, open] : open_) open.seen = false;
  read_what_is_gone(attempts, take);
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const LogAttempt& attempt = attempts[i];
    Progress& progress = progress_[attempt.path];
    if (progress.done) continue;
    bool first = !progress.begun;
    // What was moved out of the row meanwhile comes before what is still in it.
    const std::int64_t count = rotated_of(attempt.path);
    for (auto& [key, open] : open_) {
      if (std::get<0>(key) == attempt.path) read_on(open, first, take);
    }
    for (std::int64_t number = count; number >= 0; --number)
      read_file(attempt, rotated(attempt.path, number), first, take);
    progress.begun = !first;
    if (i + kAttemptsOpen >= attempts.size()) continue;
    progress.done = true;
    std::erase_if(open_, [&](const auto& each) { return std::get<0>(each.first) == attempt.path; });
  }
  std::erase_if(open_, [](const auto& each) { return !each.second.seen; });
}

// The files of a pod go within moments of its end: its last words are in what is open of them.
void LogFiles::read_what_is_gone(const std::vector<LogAttempt>& attempts, const Take& take) {
  for (auto& [key, open] : open_) {
    const std::string& path = std::get<0>(key);
    if (std::ranges::find(attempts, path, &LogAttempt::path) != attempts.end()) continue;
    bool first = !progress_[path].begun;
    read_on(open, first, take);
    progress_[path].begun = !first;
  }
}

void LogFiles::read_file(const LogAttempt& attempt, const std::string& path, bool& first, const Take& take) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat found{};
  if (!file || ::fstat(file.get(), &found) != 0) return;
  const Key key(attempt.path, static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino));
  auto [at, made] = open_.try_emplace(key);
  if (made) at->second.file = std::move(file);
  at->second.seen = true;
  read_on(at->second, first, take);
}

void LogFiles::read_on(Open& open, bool& first, const Take& take) {
  const auto hand_on = [&](std::string_view line) {
    take(line, first);
    first = false;
  };
  char piece[kPiece];
  while (true) {
    const ssize_t count = ::read(open.file.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    std::string_view left(piece, static_cast<std::size_t>(count));
    while (!left.empty()) {
      const auto end = left.find('\n');
      open.begun += left.substr(0, end);
      left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
      if (end == std::string_view::npos && open.begun.size() < kLogLineMax) break;
      hand_on(open.begun);
      open.begun.clear();
    }
  }
}

}  // namespace tidemark::cli
