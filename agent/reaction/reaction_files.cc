#include "agent/reaction/reaction_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "linux/cgroup/cpu.h"
#include "linux/kernel_files.h"

namespace tidemark::agent {
namespace {

using linux::File;

// cpu.stat of v2 with all fields of known kernels; the counter of v1 is one number.
constexpr std::size_t kCounterBytes = 1024;
// The group of all pods and the besteffort group: both are required.
constexpr std::size_t kAlwaysThere = 2;

Result<Fd> open_file_of(const linux::Hierarchies& hierarchies, const std::string& path, File file, int flags) {
  const auto* home = hierarchies.home(file);
  if (home == nullptr) return fail(ErrorKind::kUnsupported, "no hierarchy here has ", linux::names_of(file).v2);
  const linux::Place place{hierarchies.all()[home->hierarchy].path, path, home->name};
  TM_TRY(const auto directory, linux::open_beneath(hierarchies.directory(home->hierarchy), path, place));
  if (!directory) return fail(ErrorKind::kNotFound, place.text(), ": the group is not there");
  TM_TRY(auto fd, linux::open_file(directory->fd.get(), home->name, flags, place));
  if (!fd) return fail(ErrorKind::kNotFound, place.text(), " is not there");
  return std::move(*fd);
}

std::string_view read_into(int fd, std::span<char> space) {
  const ssize_t size = ::pread(fd, space.data(), space.size(), 0);
  return size <= 0 ? std::string_view() : std::string_view(space.data(), static_cast<std::size_t>(size));
}

}  // namespace

File file_of(policy::protect::SuppressPolicy policy) {
  return policy == policy::protect::SuppressPolicy::kCpuset ? File::kCpusetCpus : File::kCpuQuota;
}

bool ReactionFiles::is_of_same_groups(const policy::protect::ReactionPlan& plan) const {
  return counters_.size() >= kAlwaysThere && counters_[0].group == plan.whole &&
         counters_[1].group == plan.less.front();
}

bool ReactionFiles::has_counters(const policy::protect::ReactionPlan& plan) const {
  return is_of_same_groups(plan) &&
         std::ranges::equal(plan.less, std::span(counters_).subspan(1), {}, {}, &Counter::group) &&
         std::ranges::all_of(counters_, [](const Counter& each) { return static_cast<bool>(each.fd); });
}

bool ReactionFiles::has_written(const policy::protect::ReactionPlan& plan, bool to_write) const {
  return file_ == file_of(plan.policy) && writable_ == to_write &&
         std::ranges::equal(plan.groups, written_, {}, {}, &Held::group);
}

void ReactionFiles::close() {
  counters_.clear();
  written_.clear();
  one_went_ = false;
  sum_ns_ = used_ns_ = 0;
}

// Counters that are already open keep their values.
Result<void> ReactionFiles::open_counters(const linux::Hierarchies& hierarchies,
                                          const policy::protect::ReactionPlan& plan) {
  const auto* home = hierarchies.home(File::kCpuUsage);
  version_ = home == nullptr ? linux::Version::kV1 : home->version;
  std::vector<Counter> before = std::exchange(counters_, {});
  const auto add = [&](const std::string& group) -> Result<void> {
    const auto known =
        std::ranges::find_if(before, [&](const Counter& each) { return each.fd && each.group == group; });
    if (known != before.end()) {
      counters_.push_back(std::move(*known));
      return {};
    }
    auto opened = open_file_of(hierarchies, group, File::kCpuUsage, O_RDONLY);
    const bool may_be_missing =
        counters_.size() >= kAlwaysThere && !opened && opened.error().kind == ErrorKind::kNotFound;
    if (!opened && !may_be_missing) return fail(std::move(opened).error());
    counters_.push_back({group, opened ? std::move(*opened) : Fd(), std::nullopt});
    return {};
  };
  TM_TRY_VOID(add(plan.whole));
  for (const std::string& group : plan.less) TM_TRY_VOID(add(group));
  one_went_ = one_went_ || std::ranges::any_of(before, [](const Counter& each) { return each.fd && each.last_ns; });
  return {};
}

Result<void> ReactionFiles::open_written(const linux::Hierarchies& hierarchies,
                                         const policy::protect::ReactionPlan& plan, bool to_write) {
  file_ = file_of(plan.policy);
  writable_ = to_write;
  written_.clear();
  for (const std::string& group : plan.groups) {
    TM_TRY(auto fd, open_file_of(hierarchies, group, file_, to_write ? O_RDWR : O_RDONLY));
    written_.push_back({group, std::move(fd)});
  }
  return {};
}

Result<bool> ReactionFiles::open(const linux::Hierarchies& hierarchies, const policy::protect::ReactionPlan& plan,
                                 bool to_write) {
  const bool others = !is_of_same_groups(plan);
  if (others) close();
  auto opened = has_counters(plan) ? Result<void>() : open_counters(hierarchies, plan);
  if (opened && !has_written(plan, to_write)) opened = open_written(hierarchies, plan, to_write);
  if (opened) return others;
  close();
  return fail(std::move(opened).error());
}

std::optional<std::int64_t> ReactionFiles::used_ns() {
  std::array<char, kCounterBytes> space;
  std::int64_t more_ns = 0;
  bool known = !std::exchange(one_went_, false);
  for (std::size_t at = 0; at < counters_.size(); ++at) {
    Counter& each = counters_[at];
    if (!each.fd) continue;
    const auto used = linux::parse_cpu_usage_ns(read_into(each.fd.get(), space), version_);
    if (!used) {
      if (at < kAlwaysThere) return std::nullopt;
      known = false;
      each.fd.reset();
      each.last_ns.reset();
      continue;
    }
    // A new counter: its use until now was counted as online work's, and stays so.
    if (each.last_ns) more_ns += (at == 0 ? 1 : -1) * (*used - *each.last_ns);
    each.last_ns = *used;
  }
  if (known) sum_ns_ += more_ns;
  // The files are read one after the other, so the sum may fall slightly.
  used_ns_ = std::max(used_ns_, sum_ns_);
  return used_ns_;
}

std::string_view ReactionFiles::shown(std::size_t at, std::span<char> space) const {
  const std::string_view text = read_into(written_[at].fd.get(), space);
  return text.substr(0, std::min(text.find_first_of(" \n"), text.size()));
}

int ReactionFiles::put(std::size_t at, std::string_view bytes) const {
  const int fd = written_[at].fd.get();
  // A kernel file needs no truncation; a plain file of a test would keep the rest.
  if (::ftruncate(fd, 0) != 0) return errno;
  const ssize_t size = ::pwrite(fd, bytes.data(), bytes.size(), 0);
  if (size < 0) return errno;
  return static_cast<std::size_t>(size) == bytes.size() ? 0 : EIO;
}

}  // namespace tidemark::agent
