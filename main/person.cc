#include "main/person.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "base/text.h"
#include "base/utf8.h"
#include "main/process.h"
#include "policy/state/order.h"

namespace tidemark::main {

std::string person_name() {
  std::string user = environment_or_empty("SUDO_USER");
  if (user.empty()) user = environment_or_empty("USER");
  if (user.empty()) user = base::cat("uid ", ::getuid());
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return std::string(
      base::utf8_prefix(base::cat(user, "@", static_cast<const char*>(host)), policy::state::kByBytesMax));
}

bool asked(const std::string& question) {
  std::fputs(base::cat(question, " [y/N] ").c_str(), stderr);
  // ^C ends the program here, although the loop handles signals: the loop does not run now.
  sigset_t ends;
  sigset_t before;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &ends, &before);
  char answer[16] = {};
  const bool answered = std::fgets(answer, sizeof answer, stdin) != nullptr;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!answered) return false;
  return answer[0] == 'y' || answer[0] == 'Y';
}

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const std::string& text) {
  if (text == last_) return;
  last_ = text;
  std::fputs(base::cat(terminal_ ? "\r\033[K" : "", text, terminal_ ? "" : "\n").c_str(), stderr);
  open_ = terminal_;
}

void ProgressLine::end() {
  if (open_) std::fputs("\n", stderr);
  open_ = false;
}

}  // namespace tidemark::main
