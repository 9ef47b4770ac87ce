#include "demo/open_load.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "net/connection.h"
#include "net/http1_codec.h"

namespace tidemark::demo {

using std::chrono::seconds;

namespace {

constexpr base::Duration connect_limit = seconds(5);
constexpr base::Duration reconnect_pause = std::chrono::milliseconds(100);

// Poisson arrivals: requests of many independent users.
base::Duration gap(base::Random& random, double rate) {
  return base::Duration(static_cast<std::int64_t>(-std::log(1 - random.unit()) / rate * 1e9));
}

std::string request_text(const net::Url& url) {
  std::string text;
  net::HttpRequest head;
  head.target = url.path.empty() ? "/" : url.path;
  head.headers.add("Accept-Encoding", "gzip");
  net::append_http1_request(text, head, url.host, 0);
  return text;
}

}  // namespace

void LoadCounts::add(const LoadCounts& more) {
  latencies.add(more.latencies);
  late.add(more.late);
  answers += more.answers;
  failures += more.failures;
  unanswered += more.unanswered;
}

struct OpenLoad::Lane {
  std::unique_ptr<net::Connection> connection;
  std::optional<net::Http1Reader> reader;
  std::optional<Request> asked;
};

OpenLoad::OpenLoad(net::EventLoop& loop, LoadOptions options,
                   std::function<void(int second, const LoadCounts&)> each_second)
    : loop_(loop),
      options_(std::move(options)),
      each_second_(std::move(each_second)),
      random_(options_.seed),
      request_(request_text(options_.url)),
      all_ended_(loop),
      scope_(loop) {}

OpenLoad::~OpenLoad() = default;

net::Task<Result<LoadCounts>> OpenLoad::run() {
  for (int i = 0; i < options_.connections; ++i) {
    lanes_.push_back(std::make_unique<Lane>());
    TM_CO_TRY_VOID(co_await connect(*lanes_.back()));
  }
  const auto whole_seconds = std::chrono::ceil<seconds>(options_.length).count();
  seconds_.resize(static_cast<std::size_t>(whole_seconds));
  begin_ = loop_.clock().monotonic() + options_.warm_up;
  next_due_ = loop_.clock().monotonic() + gap(random_, options_.rate);
  arm();
  co_await loop_.sleep(options_.warm_up + options_.length);
  co_await all_ended_.wait_for(options_.patience);

  timer_.cancel();
  over_ = true;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    if (lane->asked) ended(*lane->asked, false, false);
  }
  for (const Request& request : waiting_) ended(request, false, false);
  tell_seconds();
  LoadCounts all;
  for (const Second& second : seconds_) all.add(second.counts);
  co_return all;
}

net::Task<Result<void>> OpenLoad::connect(Lane& lane) {
  TM_CO_TRY(auto connection, co_await net::connect(loop_, nullptr, options_.url, nullptr, connect_limit));
  lane.connection = std::move(connection);
  lane.reader.emplace(net::Http1Reader::Kind::kResponses, net::HttpLimits());
  const auto on_data = [this, &lane](std::string_view bytes) {
    while (lane.connection) {
      switch (lane.reader->next(bytes)) {
        case net::Http1Reader::Step::kNeedMore:
          return true;
        case net::Http1Reader::Step::kHead:
        case net::Http1Reader::Step::kBody:
          break;
        case net::Http1Reader::Step::kEnd:
          if (!lane.asked || !lane.reader->head().keep_alive) {
            reconnect(lane);
            return false;
          }
          ended(*std::exchange(lane.asked, {}), true, lane.reader->head().status == 200);
          free_.push_back(&lane);
          send_waiting();
          break;
        case net::Http1Reader::Step::kFailed:
          reconnect(lane);
          return false;
      }
    }
    return false;
  };
  lane.connection->set_callbacks({.on_data = on_data,
                                  .on_drained = [] {},
                                  .on_end = [this, &lane](const std::optional<Error>&) { reconnect(lane); }});
  free_.push_back(&lane);
  co_return Result<void>();
}

// What was asked on it has failed. Requests go on waiting for a connection, with their clocks running.
void OpenLoad::reconnect(Lane& lane) {
  lane.connection.reset();
  std::erase(free_, &lane);
  if (lane.asked) ended(*std::exchange(lane.asked, {}), true, false);
  scope_.spawn([](OpenLoad& self, Lane& mine) -> net::Task<void> {
    while (!co_await self.connect(mine)) co_await self.loop_.sleep(reconnect_pause);
    self.send_waiting();
  }(*this, lane));
}

void OpenLoad::arm() {
  if (next_due_ >= begin_ + options_.length) {
    for (Second& second : seconds_) second.all_due = true;
    if (open_ == 0) all_ended_.set();
    return;
  }
  timer_ =
      loop_.after(std::max(next_due_ - loop_.clock().monotonic(), base::Duration(0)), [this] { ask_what_is_due(); });
}

void OpenLoad::ask_what_is_due() {
  const base::MonotonicTime now = loop_.clock().monotonic();
  while (next_due_ <= now && next_due_ < begin_ + options_.length) {
    const int second = next_due_ < begin_ ? -1 : static_cast<int>((next_due_ - begin_) / seconds(1));
    waiting_.push_back({next_due_, second});
    ++open_;
    if (second >= 0) ++seconds_[static_cast<std::size_t>(second)].open;
    for (int past = second - 1; past >= 0 && !seconds_[static_cast<std::size_t>(past)].all_due; --past) {
      seconds_[static_cast<std::size_t>(past)].all_due = true;
    }
    next_due_ = next_due_ + gap(random_, options_.rate);
  }
  send_waiting();
  tell_seconds();
  arm();
}

void OpenLoad::send_waiting() {
  while (!waiting_.empty() && !free_.empty()) {
    Lane& lane = *free_.front();
    free_.pop_front();
    lane.asked = waiting_.front();
    waiting_.pop_front();
    lane.connection->write(std::string_view(request_));
    if (lane.asked->second < 0) continue;
    seconds_[static_cast<std::size_t>(lane.asked->second)].counts.late.add(loop_.clock().monotonic() - lane.asked->due);
  }
}

void OpenLoad::ended(const Request& request, bool answered, bool right) {
  --open_;
  if (request.second >= 0) {
    Second& second = seconds_[static_cast<std::size_t>(request.second)];
    --second.open;
    second.counts.latencies.add(loop_.clock().monotonic() - request.due);
    if (!answered) {
      ++second.counts.unanswered;
    } else if (right) {
      ++second.counts.answers;
    } else {
      ++second.counts.failures;
    }
  }
  if (open_ == 0 && !seconds_.empty() && seconds_.back().all_due) all_ended_.set();
}

void OpenLoad::tell_seconds() {
  while (told_ < seconds_.size() && (over_ || (seconds_[told_].all_due && seconds_[told_].open == 0))) {
    each_second_(static_cast<int>(told_), seconds_[told_].counts);
    ++told_;
  }
}

}  // namespace tidemark::demo
