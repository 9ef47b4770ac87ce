#include "kube/memory/server_metrics.h"

#include <chrono>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/status.h"

namespace tidemark::kube::memory {
namespace {

// A request in memory takes tens of microseconds, one that waits for the disk some milliseconds.
const std::vector<double> kSeconds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5};

std::string verb_of(const net::HttpRequest& head) {
  const std::string& target = head.target;
  const std::size_t query = target.find('?');
  const bool watch = target.starts_with("/api/v1/watch/") ||
                     (query != std::string::npos && (target.find("watch=1", query) != std::string::npos ||
                                                     target.find("watch=true", query) != std::string::npos));
  return watch && head.method == "GET" ? "watch" : base::lower(head.method);
}

}  // namespace

base::Histogram& log_seconds(base::Registry& registry) {
  return registry.histogram("tidemark_apiserver_log_seconds",
                            "A batch of writes, from when the disk's worker is given it until it is durable.",
                            kSeconds);
}

ServerMetrics::ServerMetrics(base::Registry& registry, const Store& store, const base::Clock& clock)
    : registry_(registry),
      store_(store),
      clock_(clock),
      objects_(registry.gauge("tidemark_apiserver_objects", "Objects of all kinds.")),
      object_bytes_(registry.gauge("tidemark_apiserver_object_bytes", "Bytes of the objects.")),
      history_bytes_(registry.gauge("tidemark_apiserver_history_bytes", "Bytes of the history for watches.")),
      watches_(registry.gauge("tidemark_apiserver_watches", "Watches that are open.")),
      watch_queue_bytes_(
          registry.gauge("tidemark_apiserver_watch_queue_bytes", "Changes that wait for slow readers of watches.")),
      watches_closed_(registry.counter("tidemark_apiserver_watches_closed_total",
                                       "Watches closed with 410: their reader was too slow, or their kind changed.")) {
  look();
}

void ServerMetrics::count(std::string_view verb, int status, base::Duration took) {
  registry_
      .counter("tidemark_apiserver_requests_total", "Answered requests by result.",
               {{"component", verb}, {"reason", status == 0 ? "no_answer" : outcome_of_status(status)}})
      .add();
  if (status == 0) return;
  registry_
      .histogram("tidemark_apiserver_request_seconds", "From the head of a request to the head of its answer.",
                 kSeconds, {{"component", verb}})
      .observe(std::chrono::duration<double>(took).count());
}

void ServerMetrics::look() {
  std::size_t objects = 0;
  for (int kind = 0; kind < store_.kinds(); ++kind) objects += store_.size(kind);
  objects_.set(static_cast<double>(objects));
  object_bytes_.set(static_cast<double>(store_.bytes()));
  history_bytes_.set(static_cast<double>(store_.history_bytes()));
  watches_.set(static_cast<double>(store_.watchers()));
  watch_queue_bytes_.set(static_cast<double>(store_.watch_queues_bytes()));
  const std::uint64_t closed = store_.watches_closed();
  watches_closed_.add(closed - closed_seen_);
  closed_seen_ = closed;
}

CountedExchange::CountedExchange(net::HttpExchange& exchange, ServerMetrics& metrics)
    : exchange_(exchange), metrics_(metrics), begin_(metrics.clock().monotonic()) {}

CountedExchange::~CountedExchange() {
  if (!answered_) answered(0);
  metrics_.look();
}

void CountedExchange::respond(int status, net::Headers headers, net::Buffer body) {
  answered(status);
  exchange_.respond(status, std::move(headers), std::move(body));
}

void CountedExchange::start(int status, net::Headers headers) {
  answered(status);
  metrics_.look();  // a watch stands from here on
  exchange_.start(status, std::move(headers));
}

void CountedExchange::answered(int status) {
  answered_ = true;
  metrics_.count(verb_of(head()), status, metrics_.clock().monotonic() - begin_);
}

}  // namespace tidemark::kube::memory
