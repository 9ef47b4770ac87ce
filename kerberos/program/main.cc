// tidemark-kerberos: the parts of Kerberos that a static binary can not contain. Only `tidemark` starts it, and talks
// to it over its standard input.

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/text.h"
#include "kerberos/service.h"
#include "net/loop.h"

namespace {

constexpr int kDone = 0, kFailed = 1, kWrongUse = 2;
constexpr std::string_view kHelp =
    "usage: tidemark-kerberos [--keytab=FILE] [--principal=PRINCIPAL]\n\n"
    "Handles Kerberos for `tidemark`, which starts it if a ResourceManager requires it, and talks to it over standard "
    "input. Not for people: see `tidemark yarn-operator --help`.\n";

int complain(const std::string& why) {
  std::fprintf(stderr, "tidemark-kerberos: %s\n", why.c_str());
  return kWrongUse;
}

int print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 ? kDone : kFailed;
}

// By hand: what reads flags elsewhere also reads files of them, with a library for those.
std::optional<std::string_view> value_of(std::string_view argument, std::string_view flag) {
  if (!argument.starts_with(flag)) return std::nullopt;
  return argument.substr(flag.size());
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tidemark;
  kerberos::TicketOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") return print(kHelp);
    if (argument == "--version") return print("tidemark-kerberos " TIDEMARK_VERSION "\n");
    if (const auto keytab = value_of(argument, "--keytab=")) {
      options.keytab = *keytab;
    } else if (const auto principal = value_of(argument, "--principal=")) {
      options.principal = *principal;
    } else {
      return complain(base::cat("unknown: ", base::in_quotes(argument)));
    }
  }
  struct stat input{};
  if (fstat(STDIN_FILENO, &input) != 0 || !S_ISSOCK(input.st_mode)) {
    return complain("it is started by `tidemark`, with a socket as its standard input");
  }
  ::signal(SIGPIPE, SIG_IGN);
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  {
    const kerberos::Service service(loop, Fd(dup(STDIN_FILENO)), std::move(options));
    loop.run();
    // A library that waits for a KDC would hold up our end; there is nothing to put away.
    _exit(kDone);
  }
}
