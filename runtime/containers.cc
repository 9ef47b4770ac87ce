#include "runtime/containers.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "journal/whole_file.h"
#include "linux/kernel_files.h"
#include "linux/proc/process.h"
#include "runtime/shim/shim.h"

namespace tidemark::runtime {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{4} << 20;
constexpr std::int64_t kKilledCode = 137;
constexpr std::string_view kShimLog = "shim.log";

// No wrapper in glibc 2.36.
Fd open_process(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}
int signal_process(const Fd& process, int signal) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0));
}

// A number of a process is given again: only with its beginning it is the same one.
Fd open_same_process(pid_t pid, std::int64_t start_ticks) {
  Fd process = open_process(pid);
  if (!process) return {};
  linux::Buffer buffer;
  const auto proc = linux::Folder::open("/proc");
  const auto ticks = proc ? linux::read_start_ticks(*proc, pid, buffer)
                          : Result<std::optional<std::int64_t>>(std::optional<std::int64_t>());
  const bool same = ticks && *ticks && **ticks == start_ticks;
  return same ? std::move(process) : Fd();
}

// With what it began and did not put elsewhere: it leads them since it began (shim.cc).
void kill_process_group(const ShimRunning& leader) {
  const Fd process = open_same_process(leader.pid, leader.start_ticks);
  if (process) ::kill(-leader.pid, SIGKILL);
}

template <class T>
std::optional<T> read_file(const std::string& path, Result<T> (*parse)(std::string_view)) {
  const auto text = journal::read_whole(path, kFileBytesMax);
  if (!text || !*text) return std::nullopt;
  auto parsed = parse(**text);
  return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
}

constexpr base::Duration kLookAgain = std::chrono::milliseconds(100);

struct ShimFound {
  Fd process;  // of the shim, where one lives
  Fd lock;     // where none does: none begins while this is held
};

// One of the two members is set. An error: it is unknown whether a shim runs.
Result<ShimFound> find_shim(const std::string& folder) {
  const std::string path = base::cat(folder, "/", kLockFile);
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return base::fail_errno(errno, base::cat("open ", path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return ShimFound{{}, std::move(lock)};
  if (errno != EWOULDBLOCK) return base::fail_errno(errno, base::cat("lock ", path));
  TM_TRY(const auto text, journal::read_whole(path, kFileBytesMax));
  const auto words = base::split(base::trim(text ? std::string_view(*text) : std::string_view()), ' ');
  const auto pid = base::parse_int(words.front());
  const auto ticks = words.size() == 2 ? base::parse_int(words[1]) : std::nullopt;
  if (pid && ticks) {
    if (Fd process = open_same_process(static_cast<pid_t>(*pid), *ticks)) return ShimFound{std::move(process), {}};
  }
  // It writes who it is just after it has the lock; or it is there, and cannot be opened.
  return fail(ErrorKind::kUnavailable, "cannot find the holder of ", path);
}

bool may_name_a_folder(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && !name.contains('/') && !name.contains('\0');
}

struct FileActions {
  posix_spawn_file_actions_t actions;
  FileActions() { ::posix_spawn_file_actions_init(&actions); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
};

Result<pid_t> spawn(const std::vector<std::string>& argv, const std::string& errors, int told) {
  std::vector<char*> words;
  for (const std::string& each : argv) words.push_back(const_cast<char*>(each.c_str()));
  words.push_back(nullptr);
  FileActions files;
  ::posix_spawn_file_actions_addopen(&files.actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files.actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&files.actions, 2, errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&files.actions, told, told);  // takes close-on-exec off, in the child alone
  char* const nothing[] = {nullptr};
  pid_t pid = -1;
  if (const int error = ::posix_spawn(&pid, words[0], &files.actions, nullptr, words.data(), nothing); error != 0) {
    return base::fail_errno(error, base::cat("start ", argv[0]));
  }
  return pid;
}

}  // namespace

Containers::Containers(net::EventLoop& loop, base::Log log, ContainersOptions options,
                       std::function<void(const ContainerPlace&)> changed)
    : loop_(loop), log_(std::move(log)), options_(std::move(options)), changed_(std::move(changed)) {}

std::string Containers::folder_of(const ContainerPlace& place) const {
  return base::cat(options_.state_dir, "/", place.pod, "/", place.name, "/", place.attempt);
}

Result<void> Containers::begin(const ContainerPlace& place, const ShimBegin& what) {
  if (!may_name_a_folder(place.pod) || !may_name_a_folder(place.name)) {
    return fail(ErrorKind::kInvalid, base::in_quotes(place.pod), " or ", base::in_quotes(place.name),
                " is no part of a path");
  }
  if (held_.contains(place)) return fail(ErrorKind::kAlreadyExists, folder_of(place), " was begun before");
  auto begun = start_shim(place, what);
  // The next process must not take it for a started one.
  if (!begun) [[maybe_unused]]
    const auto removed = remove_folder(place);
  return begun;
}

Result<void> Containers::start_shim(const ContainerPlace& place, const ShimBegin& what) {
  const std::string folder = folder_of(place);
  TM_TRY_VOID(journal::make_folder(folder));
  ShimBegin begin = what;
  begin.boot = options_.boot;
  TM_TRY_VOID(journal::write_whole(base::cat(folder, "/", kBeginFile), to_json(begin)));
  TM_TRY_VOID(journal::reserve(base::cat(folder, "/", kLockFile), kRoomBytes));
  TM_TRY_VOID(journal::reserve_whole(base::cat(folder, "/", kRunningFile), kRoomBytes));
  TM_TRY_VOID(journal::reserve_whole(base::cat(folder, "/", kEndedFile), kRoomBytes));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::fail_errno(errno, "make a pipe");
  Fd told(ends[0]);
  const Fd theirs(ends[1]);
  std::vector<std::string> argv = options_.shim_argv;
  argv.push_back(folder);
  argv.push_back(base::cat(theirs.get()));
  TM_TRY(const pid_t pid, spawn(argv, base::cat(folder, "/", kShimLog), theirs.get()));
  Held& held = held_[place];
  held.child = pid;
  held.told = std::move(told);
  held.shim = open_process(pid);
  follow(place, held);
  return {};
}

void Containers::follow(const ContainerPlace& place, Held& held) {
  if (held.told) {
    held.told_watch = loop_.watch(held.told.get(), net::kReadable, [this, place](std::uint32_t) {
      Held& now = held_.at(place);
      now.told_watch.cancel();
      now.told.reset();
      look(place);
    });
  }
  if (held.shim) {
    held.shim_watch = loop_.watch(held.shim.get(), net::kReadable, [this, place](std::uint32_t) { shim_ended(place); });
  }
}

// What stands in its folder now.
void Containers::read(const ContainerPlace& place, Held& held) const {
  const std::string folder = folder_of(place);
  if (const auto running = read_file(base::cat(folder, "/", kRunningFile), parse_running)) {
    held.seen.running = *running;
    held.seen.state = ContainerState::kRunning;
  }
  if (const auto ended = read_file(base::cat(folder, "/", kEndedFile), parse_ended)) {
    held.seen.ended = *ended;
    held.seen.state = ContainerState::kEnded;
  }
}

void Containers::look(const ContainerPlace& place) {
  Held& held = held_.at(place);
  const ContainerState before = held.seen.state;
  read(place, held);
  if (held.seen.state != before) tell(place);
}

void Containers::shim_ended(const ContainerPlace& place) {
  Held& held = held_.at(place);
  held.shim_watch.cancel();
  held.shim.reset();
  held.told_watch.cancel();
  held.told.reset();
  if (held.child > 0) ::waitpid(std::exchange(held.child, -1), nullptr, WNOHANG);
  // It may be in the hands of another one, which the process before this one began and which came late.
  look_at_adopted(place);
}

// Whether it was started before the last boot; or begin.json is unreadable because it had not reached the disk when the
// machine stopped.
bool Containers::ended_with_machine(const ContainerPlace& place) const {
  if (options_.boot.empty()) return false;
  const auto begun = how(place);
  return !begun || (!begun->boot.empty() && begun->boot != options_.boot);
}

// Without its shim the exit code of the container is lost: kills what is left of it.
void Containers::give_up(const ContainerPlace& place, Held& held) {
  const bool with_machine = ended_with_machine(place);
  log_.warn(with_machine ? "a container ended with the machine" : "a container's shim is gone: the container is ended",
            {{"container", folder_of(place)}});
  const ShimRunning& running = held.seen.running;
  // After a reboot the process IDs belong to other processes.
  if (!with_machine && held.seen.state == ContainerState::kRunning) kill_process_group(running);
  ShimEnded& ended = held.seen.ended;
  ended.exit_code = kKilledCode;
  ended.signal = SIGKILL;
  ended.with_machine = with_machine;
  if (held.seen.state == ContainerState::kBeginning) ended.cannot_begin = "its shim ended before it began";
  ended.ended = loop_.clock().wall();
  ended.began = held.seen.state == ContainerState::kRunning ? running.began : ended.ended;
  held.seen.state = ContainerState::kEnded;
  if (const auto kept = journal::write_whole(base::cat(folder_of(place), "/", kEndedFile), to_json(ended)); !kept) {
    log_.warn("how a container ended is not kept", {{"error", kept.error().message}});
  }
}

void Containers::tell(const ContainerPlace& place) {
  held_.at(place).dropped ? end_dropped(place) : changed_(place);
}

void Containers::post_change(const ContainerPlace& place) {
  loop_.post([this, place, here = std::weak_ptr<bool>(here_)] {
    if (!here.expired() && held_.contains(place)) tell(place);
  });
}

void Containers::drop(const ContainerPlace& place) {
  const auto found = held_.find(place);
  if (found == held_.end()) return;
  found->second.dropped = true;
  end_dropped(place);
}

// As far as it is now; with each change of it again.
void Containers::end_dropped(const ContainerPlace& place) {
  Result<void> done;
  switch (held_.at(place).seen.state) {
    case ContainerState::kBeginning:
      return;
    case ContainerState::kRunning:
      done = kill(place);
      break;
    case ContainerState::kEnded:
      done = forget(place);
      break;
  }
  if (done || done.error().kind == ErrorKind::kNotFound) return;
  log_.warn("cannot remove unknown container", {{"container", folder_of(place)}, {"error", done.error().message}});
}

std::int32_t Containers::next_attempt(std::string_view pod, std::string_view name) const {
  const auto behind = held_.upper_bound({std::string(pod), std::string(name), INT32_MAX});
  if (behind == held_.begin()) return 0;
  const ContainerPlace& last = std::prev(behind)->first;
  return last.pod == pod && last.name == name ? last.attempt + 1 : 0;
}

// Again and again until it is known how it stands: one that begins cannot tell this process that it runs, and given up
// is only one whose shim is known to be gone.
void Containers::look_at_adopted(const ContainerPlace& place) {
  Held& held = held_.at(place);
  const ContainerState before = held.seen.state;
  Result<ShimFound> found = ShimFound();
  if (!held.shim) found = find_shim(folder_of(place));
  read(place, held);
  if (found && found->process) {
    held.shim = std::move(found->process);
    follow(place, held);
  }
  const bool ended = held.seen.state == ContainerState::kEnded;
  if (!ended && found && found->lock) give_up(place, held);
  if (!found && !ended && !std::exchange(held.doubted, true)) {
    log_.warn("cannot check a container's shim; assuming that it runs",
              {{"container", folder_of(place)}, {"error", found.error().message}});
  }
  if (held.seen.state == ContainerState::kBeginning || (!held.shim && held.seen.state == ContainerState::kRunning)) {
    held.again = loop_.after(kLookAgain, [this, place] { look_at_adopted(place); });
  }
  if (held.seen.state != before) post_change(place);
}

// Its runtime ended before its shim had begun: nothing of it ran, and it is begun again as if for the first time. A
// shim that comes all the same finds its folder gone, or another one in its place (shim.cc).
bool Containers::forget_unbegun(const ContainerPlace& place) const {
  const std::string folder = folder_of(place);
  const auto begun = how(place);
  // Of another life of the machine the last words may be lost.
  if (!begun || begun->boot.empty() || begun->boot != options_.boot) return false;
  if (read_file(base::cat(folder, "/", kEndedFile), parse_ended)) return false;
  const auto found = find_shim(folder);
  struct stat lock{};
  if (!found || !found->lock || ::fstat(found->lock.get(), &lock) != 0 || lock.st_size > 0) return false;
  return remove_folder(place).has_value();
}

Result<void> Containers::adopt() {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const auto& pod : fs::directory_iterator(options_.state_dir, error)) {
    if (!pod.is_directory()) continue;
    std::error_code inner;
    for (const auto& name : fs::directory_iterator(pod.path(), inner)) {
      for (const auto& attempt : fs::directory_iterator(name.path(), inner)) {
        const auto number = base::parse_int(attempt.path().filename().string());
        if (!number || *number < 0 || *number > INT32_MAX) {
          log_.warn("a folder that is no container's", {{"folder", attempt.path().string()}});
          continue;
        }
        const ContainerPlace place{pod.path().filename().string(), name.path().filename().string(),
                                   static_cast<std::int32_t>(*number)};
        if (forget_unbegun(place)) continue;
        held_.try_emplace(place);
        look_at_adopted(place);
      }
    }
    if (inner)
      log_.warn("a pod's folder cannot be read", {{"folder", pod.path().string()}, {"error", inner.message()}});
  }
  if (error) return fail(ErrorKind::kIo, "read ", options_.state_dir, ": ", error.message());
  return {};
}

Result<Containers::Held*> Containers::running(const ContainerPlace& place) {
  const auto found = held_.find(place);
  if (found == held_.end() || found->second.seen.state != ContainerState::kRunning) {
    return fail(ErrorKind::kNotFound, folder_of(place), " does not run");
  }
  return &found->second;
}

Result<void> Containers::ask(const ContainerPlace& place) {
  TM_TRY(const Held* held, running(place));
  if (signal_process(held->shim, end_asked_signal()) != 0) {
    return base::fail_errno(errno, base::cat("tell the shim of ", folder_of(place)));
  }
  return {};
}

// Its shim kills what is in its group; what it leads itself does not wait for the shim.
Result<void> Containers::kill(const ContainerPlace& place) {
  TM_TRY(const Held* held, running(place));
  signal_process(held->shim, end_over_signal());
  kill_process_group(held->seen.running);
  return {};
}

Result<void> Containers::forget(const ContainerPlace& place) {
  const auto found = held_.find(place);
  if (found == held_.end()) return {};
  if (found->second.seen.state != ContainerState::kEnded) {
    return fail(ErrorKind::kInvalid, folder_of(place), " has not ended");
  }
  TM_TRY_VOID(remove_folder(place));
  held_.erase(found);
  return {};
}

Result<void> Containers::remove_folder(const ContainerPlace& place) const {
  std::error_code error, not_empty;
  std::filesystem::remove_all(folder_of(place), error);
  if (error) return fail(ErrorKind::kIo, "remove ", folder_of(place), ": ", error.message());
  // The folders above go with their last.
  std::filesystem::remove(base::cat(options_.state_dir, "/", place.pod, "/", place.name), not_empty);
  std::filesystem::remove(base::cat(options_.state_dir, "/", place.pod), not_empty);
  return {};
}

std::optional<ShimBegin> Containers::how(const ContainerPlace& place) const {
  return read_file(base::cat(folder_of(place), "/", kBeginFile), parse_begin);
}

const ContainerSeen* Containers::find(const ContainerPlace& place) const {
  const auto found = held_.find(place);
  return found == held_.end() ? nullptr : &found->second.seen;
}

std::vector<ContainerPlace> Containers::places() const {
  std::vector<ContainerPlace> out;
  for (const auto& [place, held] : held_) out.push_back(place);
  return out;
}

}  // namespace tidemark::runtime
