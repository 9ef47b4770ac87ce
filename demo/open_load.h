// An open loop of HTTP requests: each has a time at which it is due, whether or not earlier ones were answered, and its
// latency counts from that time. A generator that waits for answers before it goes on asks less of a slow server, and
// never sees how slow it was.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "demo/latencies.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/task.h"

namespace tidemark::demo {

struct LoadOptions {
  net::Url url;
  double rate = 1000;  // requests a second, as Poisson has it: independent of each other
  base::Duration length{0};
  base::Duration warm_up{0};   // before it, asked and not counted
  base::Duration patience{0};  // after the end, for answers that are still due
  int connections = 32;        // a request that finds none free waits for one, and its clock runs
  std::uint64_t seed = 1;
};

struct LoadCounts {
  Latencies latencies;  // of all requests, unanswered ones too: as long as they were waited for
  Latencies late;  // from when a request was due to when it was written: a generator without a processor shows here
  std::uint64_t answers = 0;
  std::uint64_t failures = 0;  // cut, or another status than 200
  std::uint64_t unanswered = 0;
  void add(const LoadCounts& more);
};

class OpenLoad {
 public:
  // `each_second` gets what became of the requests that were due in that second of the counted time, in order and each
  // once, when all of them have ended.
  OpenLoad(net::EventLoop& loop, LoadOptions options, std::function<void(int second, const LoadCounts&)> each_second);
  ~OpenLoad();
  // Failed: there was no connection to begin with.
  net::Task<Result<LoadCounts>> run();
  base::MonotonicTime counts_from() const { return begin_; }  // known once it has its connections

 private:
  struct Lane;  // one connection, with at most one request on it
  struct Request {
    base::MonotonicTime due;
    int second = 0;  // below 0 in the warm-up
  };
  struct Second {
    LoadCounts counts;
    std::uint64_t open = 0;
    bool all_due = false;
  };

  net::Task<Result<void>> connect(Lane& lane);
  void reconnect(Lane& lane);
  void arm();
  void ask_what_is_due();
  void send_waiting();
  void ended(const Request& request, bool answered, bool right);
  void tell_seconds();

  net::EventLoop& loop_;
  const LoadOptions options_;
  std::function<void(int second, const LoadCounts&)> each_second_;
  base::Random random_;
  std::string request_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::deque<Lane*> free_;
  std::deque<Request> waiting_;
  std::vector<Second> seconds_;
  std::size_t told_ = 0;
  base::MonotonicTime begin_;  // of the counted time
  base::MonotonicTime next_due_;
  bool over_ = false;
  std::uint64_t open_ = 0;
  net::Event all_ended_;
  net::Timer timer_;
  net::Scope scope_;
};

}  // namespace tidemark::demo
