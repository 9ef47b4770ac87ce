// What an operator sees of the server: requests by verb and by what became of them, what the store holds, how long the
// log takes, and watches that were closed because their reader was too slow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/metrics.h"
#include "kube/memory/store.h"
#include "net/http_server.h"

namespace tidemark::kube::memory {

// Of each batch of writes: from when it is given to the disk's worker until it is durable.
base::Histogram& log_seconds(base::Registry& registry);

class ServerMetrics {
 public:
  ServerMetrics(base::Registry& registry, const Store& store, const base::Clock& clock);

  // `status` 0: the handler ended, or was ended, without an answer.
  void count(std::string_view verb, int status, base::Duration took);
  void look();  // at what the store holds
  const base::Clock& clock() const { return clock_; }

 private:
  base::Registry& registry_;
  const Store& store_;
  const base::Clock& clock_;
  base::Gauge& objects_;
  base::Gauge& object_bytes_;
  base::Gauge& history_bytes_;
  base::Gauge& watches_;
  base::Gauge& watch_queue_bytes_;
  base::Counter& watches_closed_;
  std::uint64_t closed_seen_ = 0;
};

// An exchange whose answer is counted. It stands as long as the request's handler: for a watch, as long as the watch.
class CountedExchange final : public net::HttpExchange {
 public:
  CountedExchange(net::HttpExchange& exchange, ServerMetrics& metrics);
  ~CountedExchange() override;
  CountedExchange(const CountedExchange&) = delete;
  CountedExchange& operator=(const CountedExchange&) = delete;

  const net::HttpRequest& head() const override { return exchange_.head(); }
  const net::Peer& peer() const override { return exchange_.peer(); }
  net::Task<Result<std::string>> body(std::size_t bytes_max) override { return exchange_.body(bytes_max); }
  void respond(int status, net::Headers headers, net::Buffer body) override;
  void start(int status, net::Headers headers) override;
  net::Task<Result<void>> write(net::Buffer piece, base::Duration limit) override {
    return exchange_.write(std::move(piece), limit);
  }
  void end_at_drain() override { exchange_.end_at_drain(); }
  void abort() override { exchange_.abort(); }

 private:
  void answered(int status);

  net::HttpExchange& exchange_;
  ServerMetrics& metrics_;
  base::MonotonicTime begin_;
  bool answered_ = false;
};

}  // namespace tidemark::kube::memory
