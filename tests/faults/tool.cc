#include "tests/faults/tool.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "kube/config.h"

namespace tidemark::tests {

Result<ToolClient> connect_tool(net::EventLoop& loop, base::Random random, const ToolOptions& options) {
  kube::ConfigRequest request;
  request.kubeconfig = options.kubeconfig;
  TM_TRY(auto found, kube::find_config(request, kube::system_files(), loop.clock()));
  found.http.ping_interval = options.ping_interval;
  found.http.connect_timeout = options.ping_timeout;
  ToolClient made;
  made.transport = std::make_unique<net::HttpClient>(loop, nullptr, std::move(found.http));
  kube::ClientConfig config;
  config.queries_per_second = options.queries_per_second;
  config.metrics = options.metrics;
  made.client = std::make_unique<kube::Client>(loop, *made.transport, std::move(found.bearer), config, random);
  return made;
}

Commands::Commands(net::EventLoop& loop, std::function<void(std::string_view line)> on_line)
    : on_line_(std::move(on_line)) {
  ::fcntl(STDIN_FILENO, F_SETFL, ::fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
  watch_ = loop.watch(STDIN_FILENO, net::kReadable, [this](std::uint32_t) { read(); });
}

void Commands::read() {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0) return;  // nothing more for now
    if (got == 0) {
      watch_.cancel();
      return on_line_("quit");
    }
    pending_.append(buffer.data(), static_cast<std::size_t>(got));
    for (std::size_t end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n')) {
      const std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      on_line_(line);
    }
  }
}

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int give_up(const Error& error) {
  const std::string line = error.message + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  return 1;
}

std::size_t resident_bytes() {
  constexpr std::size_t kTextMax = 4096;
  auto text = kube::system_files().read("/proc/self/statm", kTextMax);
  if (!text) return 0;
  const std::string_view numbers = *text;
  const std::size_t begin = numbers.find(' ') + 1;
  const auto pages = base::parse_uint(numbers.substr(begin, numbers.find(' ', begin) - begin));
  return pages.value_or(0) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace tidemark::tests
