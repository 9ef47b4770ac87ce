#include "main/kerberos.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "main/process.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX requires this declaration

namespace tidemark::main {
namespace {

constexpr base::Duration kEndLimit = std::chrono::seconds(1);

class Child : public hadoop::HelperProcess {
 public:
  Child(net::EventLoop& loop, pid_t pid)
      : loop_(loop), pid_(pid), process_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  // SIGKILL is safe: the helper has no state to save.
  ~Child() override {
    if (reaped_) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  net::Task<std::string> how_it_ended() override {
    if (process_) {
      net::OneShot<bool> ended(loop_);
      net::FdWatch watch;
      watch = loop_.watch(process_.get(), net::kReadable, [&](std::uint32_t) {
        watch.cancel();
        ended.give(true);
      });
      const net::Timer timer = loop_.after(kEndLimit, [&] { ended.give(false); });
      co_await ended;
    }
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) co_return "";
    reaped_ = true;
    co_return WIFSIGNALED(status) ? base::cat("signal ", WTERMSIG(status))
                                  : base::cat("exit code ", WEXITSTATUS(status));
  }

 private:
  net::EventLoop& loop_;
  const pid_t pid_;
  Fd process_;
  bool reaped_ = false;
};

std::string beside_us() {
  std::string path(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return base::cat(path.substr(0, path.rfind('/') + 1), hadoop::kHelperName);
}

// Starts the helper with default signals: none blocked, none ignored.
int spawn(const std::vector<std::string>& words, int input, pid_t& pid) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& each : words) argv.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t all;
  ::sigfillset(&all);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  // Its own process group: Ctrl-C in a terminal reaches only this process, which stops the helper by closing its
  // stream.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int error = ::posix_spawn(&pid, argv[0], &files, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return error;
}

Result<hadoop::StartedHelper> start(net::EventLoop& loop, const hadoop::KerberosOptions& options) {
  const std::string program = options.helper.empty() ? beside_us() : options.helper;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return base::fail_errno(errno, "make a socket pair");
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  std::vector<std::string> words = {program};
  if (!options.keytab.empty()) words.push_back(base::cat("--keytab=", options.keytab));
  if (!options.principal.empty()) words.push_back(base::cat("--principal=", options.principal));
  pid_t pid = -1;
  if (const int error = spawn(words, theirs.get(), pid); error != 0) {
    auto failed = base::fail_errno(error, base::cat("starting ", program)).error();
    if (error == ENOENT) {
      failed.message += "; Kerberos needs this program, a part of tidemark; give its path with --kerberos-helper";
    }
    failed.kind = ErrorKind::kUnavailable;
    return fail(std::move(failed));
  }
  return hadoop::StartedHelper{std::move(ours), std::make_unique<Child>(loop, pid)};
}

}  // namespace

void speak_kerberos(hadoop::RmCluster& cluster, const hadoop::KerberosOptions& options, const base::Log& log,
                    base::Registry* metrics) {
  if (!cluster.security) return;
  cluster.make_gss = [options, log, metrics](net::EventLoop& loop) -> std::shared_ptr<hadoop::Gss> {
    return std::make_shared<hadoop::Kerberos>(
        loop, log, [&loop, options] { return start(loop, options); }, hadoop::Kerberos::Config{.metrics = metrics},
        base::Random(base::Random::seed_from_system()));
  };
}

}  // namespace tidemark::main
