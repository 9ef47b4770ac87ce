// tidemark-kerberos: what of Kerberos does not go into a static binary. `tidemark` starts it and talks to it over its
// standard input; nobody else does.

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/flags.h"
#include "kerberos/service.h"
#include "net/loop.h"

namespace {

constexpr int kDone = 0, kFailed = 1, kWrongUse = 2;

int complain(std::string_view why) {
  std::fprintf(stderr, "tidemark-kerberos: %.*s\n", static_cast<int>(why.size()), why.data());
  return kWrongUse;
}

int print(const std::string& text) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? kFailed : kDone;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tidemark;
  base::Flags flags("tidemark-kerberos",
                    "Speaks Kerberos for `tidemark`, which starts it where a ResourceManager wants that, and talks to it "
                    "over standard input. Not for people.");
  kerberos::TicketOptions options;
  flags.text("keytab", options.keytab, "keys of the caller; empty: the ticket cache").placeholder("FILE");
  flags.text("principal", options.principal, "the caller").placeholder("PRINCIPAL");
  const auto parsed = flags.parse(
      std::vector<std::string>(argv + 1, argv + argc), [](std::string_view) { return std::optional<std::string>(); },
      [](std::string_view) -> Result<std::string> { return fail(ErrorKind::kUnsupported, "no file of flags here"); });
  if (!parsed) return complain(parsed.error().message);
  if (parsed->help) return print(flags.help());
  if (parsed->version) return print("tidemark-kerberos " TIDEMARK_VERSION "\n");
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
