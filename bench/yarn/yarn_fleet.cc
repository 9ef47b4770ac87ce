// The API server of the yarn bench: kube/memory, without a disk, holding the nodes and pods of the manager's bench
// (../manager/fleet.h). Each node names its NodeManager and carries what it may sell; that is what its pods hold of
// batch and, on top, what YARN is to get (amounts.h). It is steered by lines on standard input and answers each with a
// line of JSON:
//
//   yarn_fleet DIR NODES PODS_A_NODE
//     serves TLS on a port of its choice; DIR/kubeconfig tells where
//
//   totals STEP
//     writes the origin annotation of every node, as fast as it can; answers when the first and the last write were
//     accepted
//   books STEP LIMIT_S
//     waits until every node carries YARN's book (annotation tidemark.io/yarn-book) with that step's total as
//     confirmed; answers how many do, and when the last of them was written
//   writes
//     answers how often others have written a node so far
//   kubelets EVERY_S
//     from now on each node's status is written once in so many seconds, with new times alone, as kubelets do; 0: no
//     more
//   end of input: exit
//
// Times are microseconds of the machine's monotonic clock.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amounts.h"
#include "base/log.h"
#include "base/text.h"
#include "bench/lines.h"
#include "embedded/credentials.h"
#include "fleet.h"
#include "kube/convert.h"
#include "kube/intern.h"
#include "kube/memory/registry.h"
#include "kube/memory/server.h"
#include "kube/objects.h"
#include "kube/resource.h"
#include "model/annotations.h"
#include "model/names.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace {

using namespace tidemark;
using bench::micros_of;

constexpr const char* kListen = "127.0.0.1:0";
constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kObjectsBytesMax = std::size_t{4} << 30;
constexpr std::size_t kHistoryBytesMax = std::size_t{128} << 20;
// All nodes at once, so that a watch that reads is never closed for what it has not read yet.
constexpr std::size_t kQueueMax = 20'000;
constexpr std::size_t kQueueBytesMax = std::size_t{256} << 20;
constexpr std::size_t kWritesAtOnce = 20;  // then others have their turn
constexpr std::int64_t kFirstRevision = 1'000'000;

class YarnFleet {
 public:
  YarnFleet(net::EventLoop& loop, const base::Log& log, bench::FleetShape shape)
      : loop_(loop),
        log_(log),
        fleet_(shape),
        held_(shape.nodes),
        books_(shape.nodes),
        lines_(loop, "yarn_fleet", [this](const bench::Lines::Words& words) { return obey(words); }),
        scope_(loop) {}

  Result<void> start(const std::string& folder) {
    TM_TRY(const auto credentials, embedded::open_credentials(folder, kListen, loop_.clock().wall()));
    kube::memory::ServerConfig config;
    config.tokens.push_back({credentials.token, "admin"});
    config.store.objects_bytes_max = kObjectsBytesMax;
    config.store.history_bytes_max = kHistoryBytesMax;
    config.store.watch_queue_max = kQueueMax;
    config.store.watch_queue_bytes_max = kQueueBytesMax;
    config.store.watch_queues_bytes_max = 2 * kQueueBytesMax;
    TM_TRY(api_, kube::memory::Server::open(loop_, log_, std::move(config), nullptr));
    TM_TRY_VOID(fill());
    net::HttpServerConfig http;
    http.listen = kListen;
    http.tls.emplace();
    http.tls->certificate.text = credentials.server.certificate_pem;
    http.tls->key.text = credentials.server.key_pem;
    http.tls->client_ca.text = credentials.authority.certificate_pem;
    TM_TRY(server_, net::HttpServer::listen(loop_, log_, std::move(http), api_->handler()));
    TM_TRY(const std::string kubeconfig, embedded::write_kubeconfig(folder, credentials, server_->address()));
    scope_.spawn(follow_nodes());
    bench::say(
        base::cat(R"({"kubeconfig":")", kubeconfig, R"(","pods":)", pods_, R"(,"batch_pods":)", batch_pods_, "}"));
    return {};
  }

  bool failed() const { return lines_.failed(); }

 private:
  struct Book {
    std::int64_t memory_mib = -1;  // confirmed; -1: nothing is
    base::MonotonicTime written;
  };

  kube::memory::KindPtr kind(const kube::Resource& resource) const {
    return api_->registry().kinds().find(resource.group, resource.version, resource.plural);
  }

  std::string origin(std::size_t node, std::int64_t step) const {
    const std::int64_t cpu = held_[node].cpu.value + 1000 * std::int64_t{bench::yarn_vcores(node, step)};
    const std::int64_t memory = held_[node].memory.value + (bench::yarn_memory_mib(node, step) << 20);
    return base::cat(R"({"resources":{"kubernetes.io/batch-cpu":")", cpu, R"(","kubernetes.io/batch-memory":")", memory,
                     R"("}})");
  }

  Result<void> put(const kube::memory::Kind& of, const Json& tree) {
    api_->store().restore(of.storage_id, kube::memory::make_object(of, tree));
    return {};
  }

  Result<void> fill() {
    const auto pod_kind = kind(kube::kPods);
    node_kind_ = kind(kube::kNodes);
    if (!node_kind_ || !pod_kind) return fail(ErrorKind::kInternal, "a kind is not served");
    kube::Interner interner;
    kube::PodFields fields;
    std::int64_t revision = kFirstRevision;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      for (std::size_t number = 0; number < fleet_.shape().pods_a_node; ++number) {
        const std::string text = fleet_.pod(i, number, ++revision);
        TM_TRY(const Json tree, Json::parse(text));
        TM_TRY_VOID(put(*pod_kind, tree));
        TM_TRY(const kube::Pod pod, kube::decode_pod(text, fields, interner));
        const model::Resources batch = kube::batch_request(pod);
        held_[i] += batch;
        ++pods_;
        if (batch != model::Resources()) ++batch_pods_;
      }
      TM_TRY(Json tree, Json::parse(fleet_.node(i, ++revision)));
      Json& annotations = tree["metadata"]["annotations"];
      annotations[model::kOriginAllocatableAnnotation] = Json(origin(i, 0));
      annotations[model::kYarnNodeIdAnnotation] = Json(base::cat(bench::nm_host(i), ":", bench::kNmPort));
      TM_TRY_VOID(put(*node_kind_, tree));
    }
    api_->store().restore_revision(revision);
    return {};
  }

  bool obey(const bench::Lines::Words& words) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto number = base::parse_int(words[i]);
      if (!number || *number < 0 || *number > bench::kStepsMax) return false;
      numbers.push_back(*number);
    }
    if (words[0] == "totals" && numbers.size() == 1) {
      scope_.spawn(write_totals(numbers[0]));
    } else if (words[0] == "books" && numbers.size() == 2) {
      scope_.spawn(await_books(numbers[0], std::chrono::seconds(numbers[1])));
    } else if (words[0] == "writes" && numbers.empty()) {
      bench::say(base::cat(R"({"writes":)", node_changes_ - own_writes_, "}"));
    } else if (words[0] == "kubelets" && numbers.size() == 1) {
      const bool were = kubelets_every_ > base::Duration(0);
      kubelets_every_ = std::chrono::seconds(numbers[0]);
      if (!were && numbers[0] > 0) scope_.spawn(report());
      bench::say("{}");
    } else {
      return false;
    }
    return true;
  }

  bool patch(std::size_t node, std::string_view subresource, const Json& change) {
    const auto written = api_->registry().patch({node_kind_, "v1", "", fleet_.node_name(node), subresource},
                                                kube::memory::PatchKind::kMerge, change, {});
    if (!written) lines_.fail(base::cat("a node is not written: ", written.error().message));
    ++own_writes_;
    return written.has_value();
  }

  net::Task<void> write_totals(std::int64_t step) {
    base::MonotonicTime first;
    base::MonotonicTime last;
    for (std::size_t node = 0; node < held_.size(); ++node) {
      const Json annotations = Json::object({{model::kOriginAllocatableAnnotation, Json(origin(node, step))}});
      if (!patch(node, "", Json::object({{"metadata", Json::object({{"annotations", annotations}})}}))) co_return;
      last = loop_.clock().monotonic();
      if (node == 0) first = last;
      if (node % kWritesAtOnce == kWritesAtOnce - 1) co_await loop_.sleep(base::Duration(0));
    }
    bench::say(base::cat(R"({"first":)", micros_of(first), R"(,"last":)", micros_of(last), "}"));
  }

  // A kubelet that has nothing new to say writes its conditions with new times.
  net::Task<void> report() {
    constexpr std::array<std::array<std::string_view, 2>, 4> kConditions = {
        {{"MemoryPressure", "False"}, {"DiskPressure", "False"}, {"PIDPressure", "False"}, {"Ready", "True"}}};
    for (std::size_t node = 0; kubelets_every_ > base::Duration(0); node = (node + 1) % held_.size()) {
      co_await loop_.sleep(kubelets_every_ / static_cast<std::int64_t>(held_.size()));
      const std::string now = base::format_rfc3339(loop_.clock().wall());
      std::vector<Json> conditions;
      conditions.reserve(kConditions.size());
      for (const auto& [type, status] : kConditions) {
        conditions.push_back(Json::object({{"type", Json(type)},
                                           {"status", Json(status)},
                                           {"reason", "AsBefore"},
                                           {"lastHeartbeatTime", Json(now)},
                                           {"lastTransitionTime", "2026-01-01T00:00:00Z"}}));
      }
      const Json status = Json::object({{"conditions", Json(std::move(conditions))}});
      if (!patch(node, "status", Json::object({{"status", status}}))) co_return;
    }
  }

  // What is confirmed of each node, with the time of its commit.
  net::Task<void> follow_nodes() {
    auto watch = api_->store().watch(node_kind_->storage_id, {}, -1, false);
    if (!watch) {
      lines_.fail(watch.error().message);
      co_return;
    }
    while (true) {
      while (auto item = (*watch)->next()) {
        ++node_changes_;
        const std::string_view name = item->change->object->name;  // node-10007.zone-1.internal
        const auto number = base::parse_uint(name.substr(5, 5));
        if (!number || *number - 10'000 >= books_.size()) {
          lines_.fail(base::cat("a write of a node that does not exist: ", name));
          co_return;
        }
        const auto tree = Json::parse(*item->change->object->bytes);
        const Json* text = tree ? tree->at("metadata", "annotations", model::kYarnBookAnnotation) : nullptr;
        const auto book = text != nullptr ? model::parse_yarn_book(text->as_string()) : fail(ErrorKind::kNotFound);
        if (!book) continue;
        Book& known = books_[*number - 10'000];
        const std::int64_t confirmed = book->confirmed.memory.value >> 20;
        if (known.memory_mib != confirmed) known = {confirmed, loop_.clock().monotonic()};
      }
      if ((*watch)->overflowed()) {
        lines_.fail("the server could not follow its own nodes");
        co_return;
      }
      co_await (*watch)->wait_for(std::chrono::hours(24));
    }
  }

  net::Task<void> await_books(std::int64_t step, base::Duration limit) {
    const base::MonotonicTime end = loop_.clock().monotonic() + limit;
    std::size_t right = 0;
    base::MonotonicTime at;
    while (true) {
      right = 0;
      for (std::size_t node = 0; node < books_.size(); ++node) {
        if (books_[node].memory_mib != bench::yarn_memory_mib(node, step)) continue;
        ++right;
        at = std::max(at, books_[node].written);
      }
      if (right == books_.size() || loop_.clock().monotonic() > end) break;
      co_await loop_.sleep(std::chrono::milliseconds(50));
    }
    bench::say(base::cat(R"({"right":)", right, R"(,"at":)", micros_of(at), "}"));
  }

  net::EventLoop& loop_;
  base::Log log_;
  bench::Fleet fleet_;
  std::vector<model::Resources> held_;  // by pods, of batch
  std::vector<Book> books_;
  bench::Lines lines_;
  std::size_t pods_ = 0;
  std::size_t batch_pods_ = 0;
  std::int64_t node_changes_ = 0;
  std::int64_t own_writes_ = 0;
  base::Duration kubelets_every_{0};
  std::unique_ptr<kube::memory::Server> api_;
  std::unique_ptr<net::HttpServer> server_;
  kube::memory::KindPtr node_kind_;
  net::Scope scope_;  // the last: what runs in it uses all the others
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto nodes = words.size() == 3 ? base::parse_uint(words[1]) : std::nullopt;
  const auto pods = words.size() == 3 ? base::parse_uint(words[2]) : std::nullopt;
  if (!nodes || !pods || *nodes == 0 || *nodes > 60'000 || *pods > 250) {
    std::fputs("usage: yarn_fleet DIR NODES PODS_A_NODE\n", stderr);
    return 2;
  }
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  const base::Log log = base::Log(clock, {base::LogLevel::kWarn, base::LogFormat::kText, nullptr}).named("fleet");
  YarnFleet fleet(loop, log, {*nodes, *pods, kSeed});
  if (const auto started = fleet.start(words[0]); !started) {
    std::fputs(base::cat("yarn_fleet: ", started.error().message, "\n").c_str(), stderr);
    return 1;
  }
  loop.run();
  return fleet.failed() ? 1 : 0;
}
