#include "runtime/pods/probe.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/text.h"
#include "net/connection.h"
#include "net/http_client.h"

namespace tidemark::runtime {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{1} << 20;
constexpr std::ptrdiff_t kProgramsMax = 3;  // of one probe, that are there at once
constexpr int kGoodFrom = 200, kGoodBelow = 400;

}  // namespace

Probe::Probe(net::EventLoop& loop, base::Log log, Containers& containers, ProbeSpec spec, ShimBegin inside,
             ContainerPlace place, std::function<void(bool)> told)
    : loop_(loop),
      log_(std::move(log)),
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

void Probe::drop_program() {
  if (std::exchange(running_, false)) containers_.drop(place_);
}

void Probe::look(const ContainerPlace& place) {
  if (place == place_) changed_.set();
}

net::Task<void> Probe::run() {
  co_await loop_.sleep(spec_.initial_delay);
  while (true) {
    if (const Answer good = co_await ask()) count(*good);
    co_await loop_.sleep(spec_.period);
  }
}

void Probe::count(bool good) {
  can_ask_ = true;
  successes_ = good ? successes_ + 1 : 0;
  failures_ = good ? 0 : failures_ + 1;
  const bool turns_good = good && successes_ >= spec_.successes && holds_ != true;
  const bool turns_bad = !good && failures_ >= spec_.failures && holds_ != false;
  if (!turns_good && !turns_bad) return;
  holds_ = good;
  // Posted, because the receiver may destroy this probe. A destroyed probe reports nothing: its container may be
  // another one by then.
  loop_.post([told = told_, good, here = std::weak_ptr<bool>(here_)] {
    if (!here.expired()) told(good);
  });
}

Probe::Answer Probe::not_asked(std::string_view why) {
  if (std::exchange(can_ask_, false)) {
    log_.warn("a probe cannot be asked: what held before holds",
              {{"pod", place_.pod}, {"probe", place_.name}, {"error", why}});
  }
  return std::nullopt;
}

net::Task<Probe::Answer> Probe::ask() {
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

net::Task<Probe::Answer> Probe::ask_program() {
  const auto ended = [this]() -> const ShimEnded* {
    const ContainerSeen* seen = containers_.find(place_);
    return seen != nullptr && seen->state == ContainerState::kEnded ? &seen->ended : nullptr;
  };
  // Programs that the kernel does not let go are waited for, and not joined by one more each time.
  const auto of_this = [this](const ContainerPlace& each) {
    return each.pod == place_.pod && each.name == place_.name;
  };
  if (std::ranges::count_if(containers_.places(), of_this) >= kProgramsMax) co_return false;
  // A program of before may be there still, of this probe or of a process before this one.
  place_.attempt = containers_.next_attempt(place_.pod, place_.name);
  changed_.clear();
  if (const auto begun = containers_.begin(place_, inside_); !begun) co_return not_asked(begun.error().message);
  running_ = true;
  const base::MonotonicTime until = loop_.clock().monotonic() + spec_.timeout;
  while (ended() == nullptr && loop_.clock().monotonic() < until) {
    co_await changed_.wait_for(until - loop_.clock().monotonic());
    changed_.clear();
  }
  const std::optional<ShimEnded> in_time = ended() == nullptr ? std::nullopt : std::optional(*ended());
  drop_program();
  if (in_time && !in_time->cannot_begin.empty()) co_return not_asked(in_time->cannot_begin);
  co_return in_time && in_time->exit_code == 0;
}

net::Task<Probe::Answer> Probe::ask_http() {
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

net::Task<Probe::Answer> Probe::ask_tcp() {
  net::Url url;
  url.scheme = "http";
  url.host = spec_.host;
  url.port = spec_.port;
  const auto connection = co_await net::connect(loop_, nullptr, url, nullptr, spec_.timeout);
  co_return connection.has_value();
}

}  // namespace tidemark::runtime
