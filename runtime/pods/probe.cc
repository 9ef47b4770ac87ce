#include "runtime/pods/probe.h"

#include <csignal>
#include <memory>
#include <utility>

#include "base/text.h"
#include "net/connection.h"
#include "net/http_client.h"

namespace tidemark::runtime {
namespace {

constexpr base::Duration kLastWord = std::chrono::seconds(5);  // of a program that was killed
constexpr std::size_t kAnswerBytesMax = std::size_t{1} << 20;
constexpr int kGoodFrom = 200, kGoodBelow = 400;

}  // namespace

Probe::Probe(net::EventLoop& loop, Containers& containers, ProbeSpec spec, ShimBegin inside, ContainerPlace place,
             std::function<void(bool)> told)
    : loop_(loop),
      containers_(containers),
      spec_(std::move(spec)),
      inside_(std::move(inside)),
      place_(std::move(place)),
      told_(std::move(told)),
      changed_(loop),
      scope_(loop) {
  inside_.argv = spec_.argv;
  inside_.log.clear();
  inside_.alone = false;
  scope_.spawn(run());
}

Probe::~Probe() {
  scope_.clear();
  drop_program();
}

// Its end is not waited for: whoever ends the container ends what is in its group.
void Probe::drop_program() {
  if (!std::exchange(running_, false)) return;
  [[maybe_unused]] const auto told = containers_.signal(place_, SIGKILL);
  [[maybe_unused]] const auto gone = containers_.forget(place_);
}

void Probe::look(const ContainerPlace& place) {
  if (place == place_) changed_.set();
}

net::Task<void> Probe::run() {
  std::int32_t successes = 0, failures = 0;
  co_await loop_.sleep(spec_.initial_delay);
  while (true) {
    const bool good = co_await ask();
    successes = good ? successes + 1 : 0;
    failures = good ? 0 : failures + 1;
    const bool turns_good = good && successes >= spec_.successes && holds_ != true;
    const bool turns_bad = !good && failures >= spec_.failures && holds_ != false;
    if (turns_good || turns_bad) {
      holds_ = good;
      // Whoever hears of it may end this probe: not from within it.
      loop_.post([told = told_, good] { told(good); });
    }
    co_await loop_.sleep(spec_.period);
  }
}

net::Task<bool> Probe::ask() {
  switch (spec_.how) {
    case ProbeSpec::How::kExec:
      return ask_program();
    case ProbeSpec::How::kTcp:
      return ask_tcp();
    case ProbeSpec::How::kHttp:
      break;
  }
  return ask_http();
}

net::Task<bool> Probe::ask_program() {
  const auto ended = [this] {
    const ContainerSeen* seen = containers_.find(place_);
    return seen == nullptr || seen->state == ContainerState::kEnded;
  };
  changed_.clear();
  if (!containers_.begin(place_, inside_)) co_return false;
  running_ = true;
  const base::MonotonicTime until = loop_.clock().monotonic() + spec_.timeout;
  while (!ended() && loop_.clock().monotonic() < until) {
    co_await changed_.wait_for(until - loop_.clock().monotonic());
    changed_.clear();
  }
  const bool in_time = ended();
  if (!in_time) {
    [[maybe_unused]] const auto told = containers_.signal(place_, SIGKILL);
    const base::MonotonicTime last = loop_.clock().monotonic() + kLastWord;
    while (!ended() && loop_.clock().monotonic() < last) {
      co_await changed_.wait_for(last - loop_.clock().monotonic());
      changed_.clear();
    }
  }
  const ContainerSeen* seen = containers_.find(place_);
  const bool good = in_time && seen != nullptr && seen->ended.exit_code == 0;
  [[maybe_unused]] const auto gone = containers_.forget(place_);
  running_ = false;
  ++place_.attempt;
  co_return good;
}

net::Task<bool> Probe::ask_http() {
  net::HttpClientConfig config;
  config.url.scheme = spec_.https ? "https" : "http";
  config.url.host = spec_.host;
  config.url.port = spec_.port;
  config.tls.skip_verification = true;  // as a kubelet's probes: the container may have signed its own
  config.limits.body_bytes_max = kAnswerBytesMax;
  config.user_agent = "tidemark-probe";
  // A connection for each: one that is kept says little of a server that takes no new ones.
  net::HttpClient client(loop_, nullptr, std::move(config));
  net::HttpRequest request;
  request.target = spec_.path;
  for (const auto& [name, value] : spec_.headers) request.headers.add(name, value);
  const auto answer = co_await client.open(std::move(request), spec_.timeout);
  co_return answer && (*answer)->head().status >= kGoodFrom && (*answer)->head().status < kGoodBelow;
}

net::Task<bool> Probe::ask_tcp() {
  net::Url url;
  url.scheme = "http";
  url.host = spec_.host;
  url.port = spec_.port;
  const auto connection = co_await net::connect(loop_, nullptr, url, nullptr, spec_.timeout);
  co_return connection.has_value();
}

}  // namespace tidemark::runtime
