#include "gateway/celeborn.h"

#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using namespace policy::route;

constexpr base::Duration kMasterLimit = std::chrono::seconds(5);
constexpr int kMissedAnswersMax = 3;
constexpr std::string_view kWorkersPath = "/api/v1/workers";

// Host and port of a worker, alone or in an entry with a time.
std::string worker_of(const Json& entry) {
  const Json* inner = entry.at("worker");
  const Json& worker = inner != nullptr && inner->is_object() ? *inner : entry;
  const Json* port = worker.at("rpcPort");
  return cat(worker.text_at("host"), ":", port == nullptr ? 0 : port->get_int().value_or(0));
}

}  // namespace

Result<CelebornWorkers> parse_celeborn_workers(std::string_view text) {
  TM_TRY(const Json json, Json::parse(text));
  const Json* workers = json.at("workers");
  if (workers == nullptr || !workers->is_array())
    return fail(ErrorKind::kInvalid, "Celeborn: an answer without workers");
  std::set<std::string> usable;
  for (const Json& each : workers->as_array()) usable.insert(worker_of(each));
  for (const std::string_view key :
       {"lostWorkers", "excludedWorkers", "manualExcludedWorkers", "shutdownWorkers", "decommissioningWorkers"}) {
    const Json* out = json.at(key);
    if (out == nullptr || !out->is_array()) continue;
    for (const Json& each : out->as_array()) usable.erase(worker_of(each));
  }
  return CelebornWorkers{static_cast<std::int64_t>(usable.size())};
}

Result<std::unique_ptr<Celeborn>> Celeborn::make(net::EventLoop& loop, net::WorkerPool* workers, base::Log log,
                                                 CelebornOptions options, std::string_view spark_version) {
  const auto spark = parse_version(spark_version);
  const auto version = parse_version(options.version);
  if (!spark) return fail(ErrorKind::kInvalid, "--spark-version: invalid version ", base::in_quotes(spark_version));
  if (!version)
    return fail(ErrorKind::kInvalid, "--celeborn-version: invalid version ", base::in_quotes(options.version));
  const CelebornService service{options.endpoints, *version};
  if (const auto why = not_for_celeborn(*spark, service); !why.empty()) {
    return fail(ErrorKind::kInvalid, "--celeborn: ", why);
  }
  if (options.web.empty()) return fail(ErrorKind::kInvalid, "--celeborn-web is not set: its health is read there");
  std::vector<net::Url> urls;
  for (const auto& url : options.web) {
    TM_TRY(urls.emplace_back(), net::parse_url(url));
  }
  return std::unique_ptr<Celeborn>(
      new Celeborn(loop, workers, std::move(log), std::move(options), urls, service, *spark));
}

Celeborn::Celeborn(net::EventLoop& loop, net::WorkerPool* workers, base::Log log, CelebornOptions options,
                   const std::vector<net::Url>& web, CelebornService service, Version spark)
    : loop_(loop),
      log_(std::move(log)),
      options_(std::move(options)),
      service_(std::move(service)),
      spark_(spark),
      scope_(loop) {
  for (const net::Url& url : web) {
    net::HttpClientConfig config;
    config.url = url;
    masters_.push_back(std::make_unique<net::HttpClient>(loop, workers, std::move(config)));
  }
}

void Celeborn::start() {
  scope_.spawn(poll());
}

std::string Celeborn::cannot_run(const SparkJob& job) const {
  if (const auto elsewhere = shuffles_elsewhere(job.conf); !elsewhere.empty()) {
    return cat(elsewhere, ": shuffle data on nodes that serve online traffic is refused; Celeborn is set");
  }
  const bool fresh =
      last_contact_ && loop_.clock().monotonic() - *last_contact_ < kMissedAnswersMax * options_.poll + kMasterLimit;
  if (!fresh) return "no master of Celeborn answers";
  if (workers_.usable == 0) return "Celeborn has no usable worker";
  return "";
}

void Celeborn::add_settings(SparkJob& job) const {
  const auto settings = celeborn_settings(spark_, service_, workers_, job.conf_or(kBusinessConf, "default"), job.user,
                                          job.conf_or("spark.dynamicAllocation.enabled", "false") == "true");
  for (const auto& [key, value] : settings) job.conf.try_emplace(key, value);
}

net::Task<Result<CelebornWorkers>> Celeborn::ask() {
  std::optional<Error> last;
  for (const auto& master : masters_) {
    net::HttpRequest request;
    request.target = kWorkersPath;
    request.headers.add("accept", "application/json");
    auto answer = co_await master->fetch(std::move(request), kMasterLimit);
    if (answer && answer->status == 200) co_return parse_celeborn_workers(answer->body);
    last = answer ? Error{ErrorKind::kUnavailable, cat("a master of Celeborn answered ", answer->status)}
                  : std::move(answer).error();
  }
  co_return fail(std::move(*last));
}

net::Task<void> Celeborn::poll() {
  while (true) {
    const auto workers = co_await ask();
    if (workers) {
      workers_ = *workers;
      last_contact_ = loop_.clock().monotonic();
    } else {
      log_.warn("cannot read the health of Celeborn; retrying", {{"error", workers.error()}});
    }
    const bool healthy = cannot_run({}).empty();
    if (healthy != was_healthy_) {
      log_.info(healthy ? "Celeborn is healthy" : "Celeborn is not healthy: runs go to YARN",
                {{"workers", workers_.usable}});
    }
    was_healthy_ = healthy;
    co_await loop_.sleep(options_.poll);
  }
}

}  // namespace tidemark::gateway
