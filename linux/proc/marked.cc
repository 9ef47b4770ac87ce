#include "linux/proc/marked.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr pid_t kInit = 1;
constexpr int kRoundsForAll = 2;  // the last ones, which kill waiting processes as well

// Fields of /proc/<pid>/stat, counted from 1 as proc(5) does.
constexpr int kFirstField = 3, kParent = 4, kSession = 6, kUserTime = 14, kChildSystemTime = 17, kStartTime = 22,
              kResident = 24;

// Without a line end anywhere in it, so not for the buffer that cuts at one. "" where it is gone, or not for us: a
// kernel thread has none either.
Result<void> read_environment(const Folder& proc, const std::string& pid, std::string& out) {
  out.clear();
  const Place place{proc.path(), pid, "environ"};
  auto file = open_file(proc.fd(), base::cat(pid, "/environ").c_str(), O_RDONLY, place);
  if (!file) {
    const int code = file.error().code;
    if (code == EACCES || code == EPERM || code == ESRCH) return {};
    return fail(std::move(file).error());
  }
  if (!*file) return {};
  std::array<char, 16 * 1024> piece;
  while (out.size() < kEnvironmentBytesMax) {
    const ssize_t got = ::read((*file)->get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;  // it ended meanwhile: the text so far is valid
    out.append(piece.data(), static_cast<std::size_t>(got));
  }
  return {};
}

struct Seen {
  pid_t pid = 0;
  ProcessStat stat;
  std::string value;  // of the variable; "" where it has none
};

Result<std::vector<Seen>> look(const Folder& proc, std::string_view variable, pid_t self, Buffer& buffer) {
  std::vector<std::string> names;
  TM_TRY([[maybe_unused]] const bool there, list_folders(proc.fd(), names, {proc.path(), {}, {}}));
  std::vector<Seen> out;
  std::string environment;
  for (const std::string& name : names) {
    const auto pid = base::parse_int(name);
    if (!pid || *pid <= kInit || *pid == self || *pid > std::numeric_limits<pid_t>::max()) continue;
    const auto text = proc.read(base::cat(name, "/stat").c_str(), buffer);
    if (!text || !*text) continue;
    const auto stat = parse_process_stat(**text);
    if (!stat) return fail(Error(stat.error()).within(base::cat(proc.path(), "/", name, "/stat")));
    if (stat->ended) continue;
    TM_TRY_VOID(read_environment(proc, name, environment));
    out.push_back({static_cast<pid_t>(*pid), *stat, std::string(variable_in(environment, variable))});
  }
  return out;
}

// The mark of each session that has one. A session with two marks has no owner: its leader started as something else.
std::map<pid_t, std::string> sessions_of(const std::vector<Seen>& seen) {
  std::map<pid_t, std::string> out;
  for (const Seen& each : seen) {
    if (each.value.empty() || each.stat.session == 0) continue;
    // Only the leader, or any process if the leader is gone, determines the owner of a session.
    const bool leads = each.pid == each.stat.session;
    const bool led = std::ranges::any_of(seen, [&](const Seen& one) { return one.pid == each.stat.session; });
    if (led && !leads) continue;
    const auto [at, fresh] = out.emplace(each.stat.session, each.value);
    if (!fresh && at->second != each.value) at->second.clear();
  }
  return out;
}

// It has started a session of its container, but it and its parent are in another session.
bool waits(const Seen& one, const std::vector<Seen>& seen) {
  bool started = false;
  for (const Seen& other : seen) {
    if (other.value != one.value) continue;
    const bool leads = other.pid == other.stat.session;
    if (other.pid == one.stat.parent || (leads && other.pid == one.stat.session)) return false;
    started |= leads && other.stat.parent == one.pid;
  }
  return started;
}

MarkedProcesses by_value(const std::vector<Seen>& seen, const std::map<pid_t, std::string>& sessions) {
  MarkedProcesses out;
  for (const Seen& each : seen) {
    const auto session = sessions.find(each.stat.session);
    const std::string& value = !each.value.empty() || session == sessions.end() ? each.value : session->second;
    if (value.empty()) continue;
    MarkedProcess process = each.stat.use;
    process.pid = each.pid;
    process.waits = !each.value.empty() && waits(each, seen);
    out[value].push_back(process);
  }
  for (auto& [_, processes] : out) std::ranges::sort(processes, {}, &MarkedProcess::pid);
  return out;
}

// One container over several scans in a row. A session that belonged to it once still does: if its leader and all
// marked processes were killed while it forked, only that identifies the new process.
class OneContainer {
 public:
  OneContainer(const Folder& proc, std::string_view variable, std::string_view value, pid_t self)
      : proc_(proc), variable_(variable), value_(value), self_(self) {}

  Result<std::vector<MarkedProcess>> find() {
    TM_TRY(const std::vector<Seen> seen, look(proc_, variable_, self_, buffer_));
    auto sessions = sessions_of(seen);
    for (const pid_t known : known_) sessions.emplace(known, value_);
    for (const auto& [session, value] : sessions) {
      if (value == value_) known_.insert(session);
    }
    auto found = by_value(seen, sessions);
    const auto at = found.find(value_);
    return at == found.end() ? std::vector<MarkedProcess>() : std::move(at->second);
  }

 private:
  const Folder& proc_;
  std::string variable_, value_;
  pid_t self_;
  std::set<pid_t> known_;
  Buffer buffer_;
};

// Opens processes, then checks that they still belong to the container: a reused pid is not signalled.
Result<std::vector<std::pair<pid_t, Fd>>> hold(OneContainer& container, std::vector<pid_t> pids, KillRim& rim) {
  std::vector<std::pair<pid_t, Fd>> held;
  if (pids.size() > kKillProcessesARound) pids.resize(kKillProcessesARound);
  for (const pid_t pid : pids) {
    TM_TRY(auto process, rim.open_process(pid));
    if (process) held.emplace_back(pid, *std::move(process));
  }
  if (held.empty()) return held;
  TM_TRY(const auto still, container.find());
  std::erase_if(
      held, [&](const auto& each) { return std::ranges::find(still, each.first, &MarkedProcess::pid) == still.end(); });
  return held;
}

struct Signalled {
  std::vector<Fd> told;
  std::optional<Error> trouble;  // the first
};
Signalled signal_all(std::vector<std::pair<pid_t, Fd>> held, int signal, KillRim& rim) {
  Signalled out;
  for (auto& [_, process] : held) {
    const auto told = rim.signal(process, signal);
    if (!told) {
      if (!out.trouble) out.trouble = told.error();
    } else if (*told) {
      out.told.push_back(std::move(process));
    }
  }
  return out;
}

}  // namespace

Result<ProcessStat> parse_process_stat(std::string_view stat) {
  ProcessStat out;
  // The name in brackets may hold anything, blanks and brackets too: the fields begin behind the last bracket.
  const std::size_t bracket = stat.rfind(')');
  if (bracket == std::string_view::npos) {
    return fail(ErrorKind::kInvalid, "the fields of a process are wanted, found ", base::in_quotes(stat));
  }
  Words words(without_line_end(stat.substr(bracket + 1)));
  std::string_view word;
  for (int field = kFirstField; field <= kResident; ++field) {
    if (!words.next(word)) {
      return fail(ErrorKind::kInvalid, "field ", field, " of a process is wanted, found ", base::in_quotes(stat));
    }
    if (field == kFirstField) out.ended = word == "Z" || word == "X";
    const bool cpu = field >= kUserTime && field <= kChildSystemTime;  // user, system, and both of its children
    const bool process = field == kParent || field == kSession;
    if (!process && field != kStartTime && field != kResident && !cpu) continue;
    const auto value = base::parse_int(word);  // cutime may be negative where a clock was set
    if (!value || (process && (*value < 0 || *value > std::numeric_limits<pid_t>::max()))) {
      return fail(ErrorKind::kInvalid, "field ", field, " of a process is no number: ", base::in_quotes(word));
    }
    const std::int64_t amount = std::max<std::int64_t>(*value, 0);
    if (field == kParent) out.parent = static_cast<pid_t>(amount);
    if (field == kSession) out.session = static_cast<pid_t>(amount);
    if (field == kStartTime) out.use.start_ticks = amount;
    if (field == kResident) out.use.resident_pages = amount;
    if (cpu && __builtin_add_overflow(out.use.cpu_ticks, amount, &out.use.cpu_ticks)) {
      return fail(ErrorKind::kInvalid, "the times of a process pass their range: ", base::in_quotes(stat));
    }
  }
  return out;
}

std::string_view variable_in(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::size_t end = std::min(environment.find('\0'), environment.size());
    const std::string_view one = environment.substr(0, end);
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=') {
      return one.substr(name.size() + 1);
    }
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  return {};
}

Result<MarkedProcesses> find_marked(const Folder& proc, std::string_view variable, pid_t self, Buffer& buffer) {
  TM_TRY(const std::vector<Seen> seen, look(proc, variable, self, buffer));
  return by_value(seen, sessions_of(seen));
}

Result<KillReport> kill_marked(const Folder& proc, std::string_view variable, std::string_view value, KillRim& rim) {
  OneContainer container(proc, variable, value, rim.self());
  KillReport report;
  std::optional<Error> trouble;
  std::set<pid_t> waiting;
  for (int round = 0; round < kKillRounds; ++round) {
    TM_TRY(const auto found, container.find());
    if (found.empty()) break;
    std::vector<pid_t> pids;
    for (const MarkedProcess& each : found) {
      if (each.waits) waiting.insert(each.pid);
      if (!waiting.contains(each.pid)) pids.push_back(each.pid);
    }
    const bool only_waiting = pids.empty();
    const bool last = round >= kKillRounds - kRoundsForAll;
    if (only_waiting || last) {
      pids.clear();
      for (const MarkedProcess& each : found) pids.push_back(each.pid);
    }
    TM_TRY(auto held, hold(container, std::move(pids), rim));
    if (only_waiting && !last) {
      std::vector<Fd> ending;
      for (auto& [_, process] : held) ending.push_back(std::move(process));
      rim.wait(ending, kKillRoundPatience);
      continue;
    }
    Signalled done = signal_all(std::move(held), SIGKILL, rim);
    if (done.trouble) trouble = std::move(done.trouble);
    report.killed += done.told.size();
    rim.wait(done.told, kKillRoundPatience);
  }
  TM_TRY(const auto left, container.find());
  report.left = left.size();
  report.killed -= std::min(report.killed, report.left);
  if (trouble && report.left > 0) return fail(*std::move(trouble));
  return report;
}

Result<KillReport> signal_marked(const Folder& proc, std::string_view variable, std::string_view value, int signal,
                                 const std::set<pid_t>& spared, KillRim& rim) {
  OneContainer container(proc, variable, value, rim.self());
  TM_TRY(const auto found, container.find());
  std::vector<pid_t> pids;
  for (const MarkedProcess& each : found) {
    if (!each.waits && !spared.contains(each.pid)) pids.push_back(each.pid);
  }
  TM_TRY(auto held, hold(container, std::move(pids), rim));
  Signalled done = signal_all(std::move(held), signal, rim);
  TM_TRY(const auto left, container.find());
  if (done.trouble && done.told.empty()) return fail(*std::move(done.trouble));
  return KillReport{done.told.size(), left.size()};
}

}  // namespace tidemark::linux
