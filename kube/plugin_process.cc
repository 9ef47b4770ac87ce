#include "kube/plugin_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX requires this declaration

namespace tidemark::kube {
namespace {

// A plugin runs about once an hour. Asking for its end works on every kernel; pidfds need Linux 5.3.
constexpr base::Duration kLookInterval = std::chrono::milliseconds(10);
constexpr std::size_t kErrorBytesMax = 2048;

struct Pipe {
  Fd ours, theirs;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::fail_errno(errno, "make a pipe");
  Pipe pipe{Fd(ends[0]), Fd(ends[1])};
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return base::fail_errno(errno, "make a pipe non-blocking");
  return pipe;
}

// Appends what is there. Keeps the last `bytes_max` bytes, plus at most one read.
void drain(const Fd& from, std::string& into, std::size_t bytes_max) {
  char piece[16 * 1024];
  for (;;) {
    const ssize_t count = ::read(from.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    into.append(piece, static_cast<std::size_t>(count));
    if (into.size() > bytes_max) return;
  }
}

class Child {
 public:
  Child(pid_t pid, bool leads_group) : pid_(pid), leads_group_(leads_group) {}
  ~Child() {
    if (ended_) return;
    ::kill(leads_group_ ? -pid_ : pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool has_ended(int& status) {
    const pid_t pid = ::waitpid(pid_, &status, WNOHANG);
    ended_ = pid == pid_ || (pid < 0 && errno != EINTR);
    return ended_;
  }

 private:
  const pid_t pid_;
  const bool leads_group_;
  bool ended_ = false;
};

// Our environment with `added` in place of variables of the same name.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> words;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view word = *at;
    const std::string_view name = word.substr(0, word.find('='));
    if (std::ranges::none_of(added, [&](const auto& each) { return each.first == name; })) words.emplace_back(word);
  }
  for (const auto& [name, value] : added) words.push_back(base::cat(name, "=", value));
  return words;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> made;
  made.reserve(words.size() + 1);
  for (const std::string& each : words) made.push_back(const_cast<char*>(each.c_str()));
  made.push_back(nullptr);
  return made;
}

// Starts the program with default signals: none blocked, none ignored.
int spawn(const PluginCommand& command, int output, int errors, pid_t& pid) {
  const std::vector<std::string> environment = environment_with(command.env);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (!command.interactive) {
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    // Its own process group, so that the end of a hanging script ends its programs. Only the terminal's foreground
    // group may read from a terminal.
    ::posix_spawnattr_setpgroup(&attributes, 0);
    flags |= POSIX_SPAWN_SETPGROUP;
  }
  sigset_t signals;
  ::sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::sigfillset(&signals);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  ::posix_spawnattr_setflags(&attributes, flags);
  const std::vector<char*> argv = pointers(command.argv);
  const int error = ::posix_spawnp(&pid, argv[0], &files, &attributes, argv.data(), pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return error;
}

net::Task<Result<PluginEnd>> run_plugin(net::EventLoop& loop, PluginCommand command, base::Duration limit) {
  const base::MonotonicTime deadline = loop.clock().monotonic() + limit;
  TM_CO_TRY(Pipe output, make_pipe());
  TM_CO_TRY(Pipe errors, make_pipe());
  pid_t pid = -1;
  if (const int error = spawn(command, output.theirs.get(), errors.theirs.get(), pid); error != 0) {
    co_return base::fail_errno(error, "cannot start it");
  }
  output.theirs.reset();
  errors.theirs.reset();
  Child child(pid, !command.interactive);
  PluginEnd end;
  for (;;) {
    int status = 0;
    const bool ended = child.has_ended(status);
    drain(output.ours, end.output, kPluginOutputBytesMax);
    drain(errors.ours, end.errors, kErrorBytesMax);
    if (end.output.size() > kPluginOutputBytesMax) {
      co_return fail(ErrorKind::kExhausted, "it printed more than ", kPluginOutputBytesMax, " bytes and was killed");
    }
    if (end.errors.size() > kErrorBytesMax) end.errors.erase(0, end.errors.size() - kErrorBytesMax);
    if (ended) {
      end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      co_return end;
    }
    if (loop.clock().monotonic() >= deadline) {
      co_return fail(ErrorKind::kDeadline, "it did not exit within ", base::format_go_duration(limit),
                     " and was killed");
    }
    co_await loop.sleep(kLookInterval);
  }
}

}  // namespace

PluginHost system_plugin_host(net::EventLoop& loop) {
  return {.terminal = ::isatty(STDIN_FILENO) == 1, .run = [&loop](PluginCommand command, base::Duration limit) {
            return run_plugin(loop, std::move(command), limit);
          }};
}

}  // namespace tidemark::kube
