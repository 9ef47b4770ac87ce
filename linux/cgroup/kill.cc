#include "linux/cgroup/kill.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/processes.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr pid_t kInit = 1;
constexpr const char* kProcesses = "cgroup.procs";
constexpr std::string_view kFrozenV1 = "FROZEN", kThawedV1 = "THAWED", kFrozenV2 = "1", kThawedV2 = "0";

std::int64_t now_ns() {
  constexpr std::int64_t kNsPerS = 1'000'000'000;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerS + now.tv_nsec;
}

Result<void> check_path(std::string_view path) {
  for (const std::string_view part : base::split(path, '/')) {
    if (!part.empty() && part != "." && part != "..") continue;
    return fail(ErrorKind::kInvalid,
                "the path of the group must start at the root of its hierarchy, without empty parts, ",
                "\".\" and \"..\", and is not the root: found ", base::in_quotes(path));
  }
  return {};
}

struct GroupsVisited {
  std::size_t groups = 0;
  std::size_t passed_over = 0;
};

// Visits a group and those below it in one hierarchy, parents first: visit(directory, path). Groups that vanish
// meanwhile are skipped.
template <class Visit>
Result<void> visit_groups(const Hierarchy& hierarchy, const Directory& directory, const std::string& path, int depth,
                          GroupsVisited& visited, Visit& visit) {
  if (depth > kKillDepthMax || visited.groups == kKillGroupsMax) {
    ++visited.passed_over;
    return {};
  }
  ++visited.groups;
  TM_TRY_VOID(visit(directory, path));
  std::vector<std::string> names;
  TM_TRY([[maybe_unused]] const bool there, list_folders(directory.fd.get(), names, {hierarchy.path, path, {}}));
  for (const std::string& name : names) {
    const std::string below = base::cat(path, "/", name);
    TM_TRY(const auto next, open_beneath(directory.fd.get(), name, {hierarchy.path, below, {}}));
    if (next) TM_TRY_VOID(visit_groups(hierarchy, *next, below, depth + 1, visited, visit));
  }
  return {};
}

template <class Visit>
Result<GroupsVisited> visit_groups(const Hierarchies& hierarchies, std::size_t index, const std::string& path,
                                   Visit visit) {
  const Hierarchy& hierarchy = hierarchies.all()[index];
  GroupsVisited visited;
  TM_TRY(const auto top, open_beneath(hierarchies.directory(index), path, {hierarchy.path, path, {}}));
  if (top) TM_TRY_VOID(visit_groups(hierarchy, *top, path, 0, visited, visit));
  return visited;
}

struct Members {
  std::vector<pid_t> pids;  // each once, those of the deepest groups first
  std::size_t foreign = 0;  // of another pid namespace: they have no number here
  std::size_t unseen = 0;   // groups that were passed over
  std::size_t count() const { return pids.size() + foreign + unseen; }
};

class Ender {
 public:
  Ender(const Hierarchies& hierarchies, KillRim& rim, const std::string& path)
      : hierarchies_(hierarchies), rim_(rim), path_(path) {}

  Result<KillReport> kill(base::Duration last_patience);
  Result<KillReport> ask(const std::set<pid_t>& spared);

 private:
  Result<Members> look();
  std::vector<Fd> open_some(std::span<const pid_t> pids, std::vector<pid_t>& opened);
  std::vector<pid_t> signal_members(std::span<const Fd> processes, const std::vector<pid_t>& pids, int signal);
  bool kill_at_once();
  void freeze();
  void thaw();
  void put(File file, const std::string& group, std::string_view text);
  void remember(Error error) {
    if (!trouble_) trouble_ = std::move(error);
  }
  Result<KillReport> outcome(std::size_t killed, const Members& left);

  const Hierarchies& hierarchies_;
  KillRim& rim_;
  const std::string& path_;
  Buffer buffer_;
  std::optional<Error> trouble_;  // the first
};

Result<Members> Ender::look() {
  TM_TRY_VOID(check_path(path_));
  std::vector<std::pair<std::ptrdiff_t, pid_t>> seen;  // with the depth
  Members out;
  std::vector<pid_t> pids;
  for (std::size_t index = 0; index < hierarchies_.all().size(); ++index) {
    std::size_t foreign = 0;
    const auto read = [&](const Directory& directory, const std::string& group) -> Result<void> {
      const Place place{hierarchies_.all()[index].path, group, kProcesses};
      TM_TRY(const auto file, open_file(directory.fd.get(), kProcesses, O_RDONLY, place));
      if (!file) return {};
      // Of very many the first: the next round has the others.
      auto text = read_beginning(file->get(), buffer_, place);
      // A group of threads (v2) has no such list: its processes are in the list of the one above.
      if (!text && text.error().kind == ErrorKind::kUnsupported) return {};
      if (!text) return fail(std::move(text).error());
      if (!*text) return {};
      auto parsed = parse_processes(**text, pids);
      if (!parsed) return fail(std::move(parsed).error().within(place.text()));
      foreign += foreign_processes(**text);
      for (const pid_t pid : pids) seen.emplace_back(std::ranges::count(group, '/'), pid);
      return {};
    };
    TM_TRY(const GroupsVisited visited, visit_groups(hierarchies_, index, path_, read));
    out.unseen = std::max(out.unseen, visited.passed_over);
    out.foreign = std::max(out.foreign, foreign);
  }
  std::ranges::sort(seen, std::greater());
  std::unordered_set<pid_t> known;
  for (const auto& [depth, pid] : seen) {
    if (pid == kInit || pid == rim_.self()) {
      return fail(ErrorKind::kDenied, "the group ", base::in_quotes(path_), " is not killed: process ", pid,
                  " is in it, which is ", pid == kInit ? "the first of all" : "this one");
    }
    if (known.insert(pid).second) out.pids.push_back(pid);
  }
  return out;
}

// In the same order; those that are gone are left out.
std::vector<Fd> Ender::open_some(std::span<const pid_t> pids, std::vector<pid_t>& opened) {
  std::vector<Fd> out;
  for (const pid_t pid : pids) {
    if (out.size() == kKillProcessesARound) break;
    auto process = rim_.open_process(pid);
    if (!process) {
      remember(std::move(process).error());
      continue;
    }
    if (!*process) continue;
    out.push_back(std::move(**process));
    opened.push_back(pid);
  }
  return out;
}

// A number may be another process's since it was read: it is signalled only where the group has that number still once
// the descriptor is held. If that one is yet another, the one that is held has ended and gets nothing.
std::vector<pid_t> Ender::signal_members(std::span<const Fd> processes, const std::vector<pid_t>& pids, int signal) {
  std::vector<pid_t> told;
  auto now = look();
  if (!now) {
    remember(std::move(now).error());
    return told;
  }
  const std::unordered_set<pid_t> members(now->pids.begin(), now->pids.end());
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (!members.contains(pids[i])) continue;
    auto sent = rim_.signal(processes[i], signal);
    if (!sent) {
      remember(std::move(sent).error());
    } else if (*sent) {
      told.push_back(pids[i]);
    }
  }
  return told;
}

void Ender::put(File file, const std::string& group, std::string_view text) {
  auto opened = Group::open(hierarchies_, group);
  if (!opened) return remember(std::move(opened).error());
  if (!*opened) return;
  auto done = rim_.writer().put(**opened, file, text);
  // A kernel without it, or a group that is not in that hierarchy, has nothing to freeze.
  if (!done && done.error().kind != ErrorKind::kUnsupported) remember(std::move(done).error());
}

// False: this kernel has no such file for the group.
bool Ender::kill_at_once() {
  const auto group = Group::open(hierarchies_, path_);
  if (!group || !*group || !(*group)->has(File::kKill)) return false;
  auto done = rim_.writer().put(**group, File::kKill, "1");
  if (!done) remember(std::move(done).error());
  return done.has_value();
}

void Ender::freeze() {
  const auto* home = hierarchies_.home(File::kFreeze);
  if (home) put(File::kFreeze, path_, home->version == Version::kV1 ? kFrozenV1 : kFrozenV2);
}

// On v1, a frozen child group keeps its processes from dying.
void Ender::thaw() {
  const auto* home = hierarchies_.home(File::kFreeze);
  if (!home) return;
  if (home->version == Version::kV2) return put(File::kFreeze, path_, kThawedV2);
  const auto thaw_one = [&](const Directory& directory, const std::string& group) -> Result<void> {
    const Place place{hierarchies_.all()[home->hierarchy].path, group, home->name};
    TM_TRY(const auto file, open_file(directory.fd.get(), home->name, O_RDONLY, place));
    if (!file) return {};
    TM_TRY(const auto text, read_text(file->get(), buffer_, place));
    if (text && without_line_end(*text) != kThawedV1) put(File::kFreeze, group, kThawedV1);
    return {};
  };
  auto done = visit_groups(hierarchies_, home->hierarchy, path_, thaw_one);
  if (!done) remember(std::move(done).error());
}

Result<KillReport> Ender::outcome(std::size_t killed, const Members& left) {
  if (left.count() == 0) return KillReport{killed, 0};
  if (trouble_) return fail(std::move(*trouble_).within(base::cat("end the group ", base::in_quotes(path_))));
  if (left.pids.empty() && left.foreign > 0) {
    return fail(ErrorKind::kDenied, "the group ", base::in_quotes(path_), " has ", left.foreign,
                " processes of another pid namespace, which cannot be ended one by one: the agent needs the host's pid "
                "namespace (hostPID)");
  }
  return KillReport{killed, left.count()};
}

Result<KillReport> Ender::kill(base::Duration last_patience) {
  TM_TRY(Members members, look());
  std::size_t killed = 0;
  bool kernel_told = false;
  for (int round = 0; round < kKillRounds && members.count() > 0; ++round) {
    std::vector<pid_t> pids;
    const std::vector<Fd> processes = open_some(members.pids, pids);
    std::vector<pid_t> told;
    if (round == 0) kernel_told = kill_at_once();
    // The kernel also kills processes that we cannot see; they only take longer.
    const bool at_once = kernel_told && (round == 0 || members.pids.empty());
    if (!at_once) {
      if (members.pids.empty()) break;
      struct Thaw {
        Ender& ender;
        ~Thaw() { ender.thaw(); }
      } thaw_after{*this};
      if (round > 0) freeze();
      told = signal_members(processes, pids, SIGKILL);
    }
    rim_.wait(processes, kKillRoundPatience);
    const std::size_t before = members.count();
    TM_TRY(members, look());
    if (at_once) {
      killed += before - std::min(before, members.count());
    } else {
      const std::unordered_set<pid_t> stay(members.pids.begin(), members.pids.end());
      killed += static_cast<std::size_t>(std::ranges::count_if(told, [&](pid_t pid) { return !stay.contains(pid); }));
    }
  }
  // All were signalled often enough: the rest is dying, or cannot die.
  if (last_patience == base::Duration(0)) return outcome(killed, members);
  std::vector<pid_t> dying;
  const std::vector<Fd> processes = open_some(members.pids, dying);
  if (!trouble_ && !processes.empty()) {
    rim_.wait(processes, last_patience);
    const std::size_t before = members.count();
    TM_TRY(members, look());
    killed += before - std::min(before, members.count());
  }
  return outcome(killed, members);
}

Result<KillReport> Ender::ask(const std::set<pid_t>& spared) {
  TM_TRY(Members members, look());
  std::erase_if(members.pids, [&](pid_t pid) { return spared.contains(pid); });
  std::size_t told = 0;
  for (std::span<const pid_t> others(members.pids); !others.empty();) {
    const std::size_t count = std::min(others.size(), kKillProcessesARound);
    std::vector<pid_t> pids;
    const std::vector<Fd> processes = open_some(others.first(count), pids);
    told += signal_members(processes, pids, SIGTERM).size();
    others = others.subspan(count);
  }
  TM_TRY(const Members left, look());
  return outcome(told, left);
}

}  // namespace

Result<void> can_kill_groups(const Hierarchies& hierarchies, KillRim& rim) {
  const auto held = rim.open_process(rim.self());
  if (held) return {};
  // Every group but the root has the file, or none does.
  for (std::size_t index = 0; index < hierarchies.all().size(); ++index) {
    const Hierarchy& hierarchy = hierarchies.all()[index];
    std::vector<std::string> groups;
    if (!list_folders(hierarchies.directory(index), groups, {hierarchy.path, {}, {}}) || groups.empty()) continue;
    const auto group = Group::open(hierarchies, groups.front());
    if (group && *group && (*group)->has(File::kKill)) return {};
  }
  return fail(held.error());
}

pid_t KernelKillRim::self() const {
  return ::getpid();
}

Result<std::optional<Fd>> KernelKillRim::open_process(pid_t pid) {
  Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (fd) return fd;
  // EINVAL: a thread that is not the first of its process
  if (errno == ESRCH || errno == EINVAL) return std::nullopt;
  if (errno == ENOSYS) {
    return fail(ErrorKind::kUnsupported, "this kernel cannot hold a process (pidfd_open, Linux 5.3)");
  }
  return base::fail_errno(errno, base::cat("open the process ", pid));
}

Result<bool> KernelKillRim::signal(const Fd& process, int signal) {
  if (::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0) return true;
  if (errno == ESRCH) return false;
  return base::fail_errno(errno, base::cat("send the signal ", signal));
}

void KernelKillRim::wait(std::span<const Fd> processes, base::Duration at_most) {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  const std::int64_t until = now_ns() + at_most.count();
  if (processes.empty()) ::poll(nullptr, 0, static_cast<int>(at_most.count() / kNsPerMs));  // no process to watch
  for (const Fd& process : processes) {
    pollfd wanted{process.get(), POLLIN, 0};
    const std::int64_t ns = std::max<std::int64_t>(until - now_ns(), 0);
    int done = -1;
    do {
      done = ::poll(&wanted, 1, static_cast<int>((ns + kNsPerMs - 1) / kNsPerMs));
    } while (done < 0 && errno == EINTR);
  }
}

Result<KillReport> KernelGroupKiller::kill(const std::string& path) {
  return Ender(hierarchies_, rim_, path).kill(kKillLastPatience);
}

Result<KillReport> KernelGroupKiller::kill_again(const std::string& path) {
  return Ender(hierarchies_, rim_, path).kill(base::Duration(0));
}

Result<KillReport> KernelGroupKiller::ask(const std::string& path, const std::set<pid_t>& spared) {
  return Ender(hierarchies_, rim_, path).ask(spared);
}

}  // namespace tidemark::linux
