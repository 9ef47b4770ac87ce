// The API server of the manager bench: kube/memory, without a disk, holding a made-up fleet (fleet.h), and the clock
// that says when something changed and when the answer to it was written. It is steered by lines on standard input and
// answers each with a line of JSON:
//
//   fleet_server DIR NODES PODS_A_NODE
//     serves TLS on a port of its choice; DIR/kubeconfig tells where
//
//   settings RECLAIM DIFF
//     writes colocation-config: cpuReclaimThresholdPercent and resourceDiffThreshold
//   suppress PERCENT
//     writes resource-threshold-config, and with it the NodeSLO of every node
//   spoil
//     writes colocation-config as a text that is no JSON; this and those before answer how many writes of nodes there
//     were so far
//   own FILE
//     writes what is in FILE as the tidemark-config
//   mark
//     the count of `settle` starts now; `settings`, `suppress` and `spoil` start it, too
//   settle LIMIT_S
//     waits until every node was written since, carries the batch-cpu that the formula gives, and the hash of one and
//     the same settings (after `settings` and `suppress`: of other ones than before); answers how long after the start
//     of the count each was
//   update COUNT RATE LOAD…
//     COUNT NodeMetrics in turn, RATE a second, each pass over the nodes with the next LOAD (‰ of usual use); answers
//     how many writes of nodes came meanwhile, and how long after the commit of its node's update each came
//   end of input: exit
//
// All times are taken by this process, where a change is committed: the watcher gets it later, and a write came
// earlier. NodeMetrics are committed straight to the store, as if an agent's write had just been accepted: what an API
// server spends on accepting it is not part of the bench.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "bench/lines.h"
#include "embedded/crds.h"
#include "embedded/credentials.h"
#include "fleet.h"
#include "kube/client.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/registry.h"
#include "kube/memory/server.h"
#include "model/names.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace {

using namespace tidemark;

constexpr const char* kListen = "127.0.0.1:0";
constexpr std::string_view kNamespace = "koordinator-system";
constexpr std::string_view kConfigMap = "slo-controller-config";
constexpr std::string_view kOwnConfigMap = "tidemark-config";
constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kObjectsBytesMax = std::size_t{4} << 30;
constexpr std::size_t kHistoryBytesMax = std::size_t{128} << 20;
constexpr base::Duration kTick = std::chrono::milliseconds(2);
constexpr base::Duration kQuiet = std::chrono::seconds(1);  // without a write: no more are on their way
constexpr base::Duration kInstallLimit = std::chrono::seconds(30);
constexpr std::int64_t kFirstRevision = 1'000'000;

double milliseconds(base::Duration d) {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(d).count()) / 1000;
}

std::string percentiles(std::vector<base::Duration> all) {
  std::sort(all.begin(), all.end());
  const auto at = [&](double part) {
    if (all.empty()) return 0.0;
    const auto index = static_cast<std::size_t>(part * static_cast<double>(all.size()));
    return milliseconds(all[std::min(all.size() - 1, index)]);
  };
  return base::cat("{\"n\":", all.size(), ",\"p50\":", at(0.5), ",\"p99\":", at(0.99), ",\"max\":", at(1.0), "}");
}

// The text of a member, wherever it comes first in an object that was printed without blanks; "" where it is not there.
std::string_view member_of(std::string_view object, std::string_view name) {
  const std::string key = base::cat("\"", name, "\":\"");
  const std::size_t at = object.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = object.substr(at + key.size());
  return rest.substr(0, rest.find('"'));
}

// Of a node's allocatable or capacity, which carry the same; a round number is printed as "17k".
std::optional<std::int64_t> batch_cpu_of(std::string_view node) {
  const std::string_view text = member_of(node, model::kBatchCpu);
  if (!text.ends_with('k')) return base::parse_int(text);
  const auto thousands = base::parse_int(text.substr(0, text.size() - 1));
  return thousands ? std::optional(*thousands * 1000) : std::nullopt;
}

class FleetServer {
 public:
  FleetServer(net::EventLoop& loop, const base::Log& log, bench::FleetShape shape)
      : loop_(loop),
        log_(log),
        fleet_(shape),
        nodes_(shape.nodes),
        lines_(loop, "fleet_server", [this](const bench::Lines::Words& words) { return obey(words); }),
        scope_(loop) {}

  Result<void> start(const std::string& folder) {
    TM_TRY(const auto credentials, embedded::open_credentials(folder, kListen, loop_.clock().wall()));
    kube::memory::ServerConfig config;
    config.tokens.push_back({credentials.token, "admin"});
    config.store.objects_bytes_max = kObjectsBytesMax;
    config.store.history_bytes_max = kHistoryBytesMax;
    TM_TRY(api_, kube::memory::Server::open(loop_, log_, std::move(config), nullptr));
    TM_TRY_VOID(install());
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
    bench::say(base::cat(R"({"kubeconfig":")", kubeconfig, R"(","pod_bytes":)", pod_bytes_ / pods(),
                         R"(,"node_bytes":)", node_bytes_ / nodes_.size(), R"(,"metric_bytes":)",
                         metric_bytes_ / nodes_.size(), "}"));
    return {};
  }

  bool failed() const { return lines_.failed(); }

 private:
  struct Node {
    kube::memory::ObjectPtr metric;
    bench::Report report;
    base::MonotonicTime updated;  // when the newest metric was committed
    std::optional<std::int64_t> batch_cpu;
    std::string config_hash;
    base::MonotonicTime written;
  };

  std::size_t pods() const { return fleet_.shape().nodes * fleet_.shape().pods_a_node; }

  // The custom resources, the namespace and the ConfigMap, by calls of the API.
  Result<void> install() {
    kube::memory::LocalTransport transport(loop_, api_->handler(), "fleet");
    kube::Client client(loop_, transport, [] { return std::string(); }, {1e6, 1'000'000, "fleet"}, base::Random(kSeed));
    Result<void> done = fail(ErrorKind::kInternal, "installing did not end");
    auto all = [&]() -> net::Task<void> {
      done = co_await embedded::install_crds(client, log_);
      if (done) done = co_await create_config(client);
      loop_.stop();
    };
    net::Scope scope(loop_);
    scope.spawn(all());
    loop_.run();
    return done;
  }

  net::Task<Result<void>> create_config(kube::Client& client) {
    TM_CO_TRY_VOID(co_await client.create(
        kube::kNamespaces,
        base::cat(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")", kNamespace, R"("}})"), {}, "",
        kInstallLimit));
    kube::WriteOptions options;
    options.ns = kNamespace;
    TM_CO_TRY_VOID(co_await client.create(kube::kConfigMaps, config_map().dump(), options, "", kInstallLimit));
    co_return Result<void>();
  }

  void write_own(const std::string& file) {
    std::ifstream text(file, std::ios::binary);
    const Json data = Json::object({{"config.yaml", std::string(std::istreambuf_iterator<char>(text), {})}});
    const Json map = Json::object(
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", Json::object({{"name", std::string(kOwnConfigMap)}, {"namespace", std::string(kNamespace)}})},
         {"data", data}});
    const auto written = api_->registry().create(kind(kube::kConfigMaps), "v1", kNamespace, map, {});
    if (!written) return lines_.fail(base::cat("own ", file, ": ", written.error().message));
    bench::say("{}");
  }

  // No refresh of what stands and no metric that turns stale while the bench runs: either would be a write of its own.
  Json config_map() const {
    const Json settings = Json::object({{"enable", true},
                                        {"cpuReclaimThresholdPercent", reclaim_percent_},
                                        {"memoryReclaimThresholdPercent", 65},
                                        {"resourceDiffThreshold", diff_threshold_},
                                        {"updateTimeThresholdSeconds", 86'400},
                                        {"degradeTimeMinutes", 1'440}});
    return Json::object(
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", Json::object({{"name", std::string(kConfigMap)}, {"namespace", std::string(kNamespace)}})},
         {"data", Json::object({{"colocation-config", settings.dump()},
                                {"resource-threshold-config", agents_rules().dump()}})}});
  }

  Json agents_rules() const {
    return Json::object(
        {{"clusterStrategy", Json::object({{"enable", true}, {"cpuSuppressThresholdPercent", suppress_percent_}})}});
  }

  kube::memory::KindPtr kind(const kube::Resource& resource) const {
    return api_->registry().kinds().find(resource.group, resource.version, resource.plural);
  }

  Result<kube::memory::ObjectPtr> put(const kube::memory::Kind& of, const std::string& text, std::size_t& bytes) {
    TM_TRY(const Json tree, Json::parse(text));
    auto object = kube::memory::make_object(of, tree);
    if (!object->bytes->starts_with(R"({"kind":)")) {
      return fail(ErrorKind::kInternal, of.name, " ", object->name, " does not begin as it is stored: each list would ",
                  "print it anew");
    }
    bytes += object->bytes->size();
    api_->store().restore(of.storage_id, object);
    return object;
  }

  Result<void> fill() {
    const auto node_kind = kind(kube::kNodes);
    const auto pod_kind = kind(kube::kPods);
    metric_kind_ = kind(kube::kNodeMetrics);
    if (!node_kind || !pod_kind || !metric_kind_) return fail(ErrorKind::kInternal, "a kind is not served");
    std::int64_t revision = kFirstRevision;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      TM_TRY_VOID(put(*node_kind, fleet_.node(i, ++revision), node_bytes_));
      nodes_[i].report = {loop_.clock().wall(), 1000};
      TM_TRY(nodes_[i].metric, put(*metric_kind_, fleet_.node_metric(i, nodes_[i].report, ++revision), metric_bytes_));
      for (std::size_t pod = 0; pod < fleet_.shape().pods_a_node; ++pod) {
        TM_TRY_VOID(put(*pod_kind, fleet_.pod(i, pod, ++revision), pod_bytes_));
      }
    }
    api_->store().restore_revision(revision);
    return {};
  }

  bool obey(const bench::Lines::Words& words) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[0] == "own" || (words[0] == "settings" && i == 2)) break;
      const auto number = base::parse_int(words[i]);
      if (!number || *number < 0) return false;
      numbers.push_back(*number);
    }
    if (words[0] == "settings" && words.size() == 3 && base::parse_double(words[2])) {
      reclaim_percent_ = numbers[0];
      diff_threshold_ = *base::parse_double(words[2]);
      write_settings(*config_map().at("data"));
    } else if (words[0] == "suppress" && numbers.size() == 1) {
      suppress_percent_ = numbers[0];
      write_settings(*config_map().at("data"));
    } else if (words[0] == "spoil" && numbers.empty()) {
      write_settings(Json::object({{"colocation-config", "{"}}));
    } else if (words[0] == "own" && words.size() == 2) {
      write_own(std::string(words[1]));
    } else if (words[0] == "mark" && numbers.empty()) {
      mark_ = loop_.clock().monotonic();
      hash_before_.clear();
      bench::say("{}");
    } else if (words[0] == "settle" && numbers.size() == 1) {
      scope_.spawn(settle(std::chrono::seconds(numbers[0])));
    } else if (words[0] == "update" && numbers.size() >= 3 && numbers[1] > 0) {
      scope_.spawn(update(static_cast<std::uint64_t>(numbers[0]), static_cast<std::uint64_t>(numbers[1]),
                          {numbers.begin() + 2, numbers.end()}));
    } else {
      return false;
    }
    return true;
  }

  void write_settings(const Json& data) {
    const auto map = kind(kube::kConfigMaps);
    const Json patch = Json::object({{"data", data}});
    hash_before_ = nodes_[0].config_hash;
    mark_ = loop_.clock().monotonic();
    const auto written =
        api_->registry().patch({map, "v1", kNamespace, kConfigMap}, kube::memory::PatchKind::kMerge, patch, {});
    if (!written) return lines_.fail(base::cat("settings: ", written.error().message));
    bench::say(base::cat(R"({"writes":)", writes_, "}"));
  }

  // Every write of a node, with the time of its commit.
  net::Task<void> follow_nodes() {
    auto watch = api_->store().watch(kind(kube::kNodes)->storage_id, {}, -1, false);
    if (!watch) {
      lines_.fail(watch.error().message);
      co_return;
    }
    while (true) {
      while (auto item = (*watch)->next()) {
        const std::string_view name = item->change->object->name;  // node-10007.zone-1.internal
        const auto number = base::parse_uint(name.substr(5, 5));
        if (!number || *number - 10'000 >= nodes_.size()) {
          lines_.fail(base::cat("a write of a node that does not exist: ", name));
          co_return;
        }
        Node& node = nodes_[*number - 10'000];
        node.written = loop_.clock().monotonic();
        node.batch_cpu = batch_cpu_of(*item->change->object->bytes);
        node.config_hash = member_of(*item->change->object->bytes, model::kConfigHashAnnotation);
        ++writes_;
        latencies_.push_back(node.written - node.updated);
      }
      if ((*watch)->overflowed()) {
        lines_.fail("the server could not follow its own nodes");
        co_return;
      }
      co_await (*watch)->wait_for(std::chrono::hours(24));
    }
  }

  net::Task<void> settle(base::Duration limit) {
    std::vector<std::int64_t> wanted;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      wanted.push_back(fleet_.batch_cpu_milli(i, nodes_[i].report, reclaim_percent_));
    }
    const base::MonotonicTime end = loop_.clock().monotonic() + limit;
    std::size_t right = 0;
    while (true) {
      right = 0;
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const Node& node = nodes_[i];
        const bool by_these_settings = node.config_hash == nodes_[0].config_hash && node.config_hash != hash_before_;
        right += node.batch_cpu == wanted[i] && node.written > mark_ && by_these_settings ? 1 : 0;
      }
      if (right == nodes_.size() || loop_.clock().monotonic() > end) break;
      co_await loop_.sleep(std::chrono::milliseconds(50));
    }
    std::vector<base::Duration> since;
    for (const Node& node : nodes_) since.push_back(node.written - mark_);
    bench::say(base::cat(R"({"nodes":)", nodes_.size(), R"(,"right":)", right, R"(,"writes":)", writes_, R"(,"since":)",
                         percentiles(std::move(since)), "}"));
  }

  net::Task<void> update(std::uint64_t count, std::uint64_t rate, std::vector<std::int64_t> loads) {
    const std::uint64_t writes_before = writes_;
    latencies_.clear();
    const base::MonotonicTime begin = loop_.clock().monotonic();
    std::uint64_t done = 0;
    while (done < count && !lines_.failed()) {
      const auto elapsed = loop_.clock().monotonic() - begin;
      const auto due = std::min<std::uint64_t>(
          count, rate * static_cast<std::uint64_t>(elapsed / std::chrono::microseconds(1)) / 1'000'000);
      for (; done < due; ++done) {
        report(next_, loads[(next_pass_) % loads.size()]);
        if (++next_ == nodes_.size()) {
          next_ = 0;
          ++next_pass_;
        }
      }
      co_await loop_.sleep(kTick);
    }
    const base::Duration took = loop_.clock().monotonic() - begin;
    std::uint64_t seen = 0;
    do {
      seen = writes_;
      co_await loop_.sleep(kQuiet);
    } while (seen != writes_);
    bench::say(base::cat(R"({"updates":)", done, R"(,"ms":)", milliseconds(took), R"(,"writes":)",
                         writes_ - writes_before, R"(,"latency":)", percentiles(latencies_), "}"));
  }

  void report(std::size_t index, std::int64_t load) {
    Node& node = nodes_[index];
    auto object = std::make_shared<kube::memory::Object>(*node.metric);
    object->revision = api_->store().next_revision();
    node.report = {loop_.clock().wall(), load};
    object->bytes = net::make_buffer(fleet_.node_metric(index, node.report, object->revision));
    const auto staged = api_->store().stage(metric_kind_->storage_id, object->name, node.metric, object);
    if (!staged) return lines_.fail(base::cat("update: ", staged.error().message));
    node.metric = std::move(object);
    node.updated = loop_.clock().monotonic();
  }

  net::EventLoop& loop_;
  base::Log log_;
  bench::Fleet fleet_;
  std::vector<Node> nodes_;
  std::int64_t reclaim_percent_ = 60;
  double diff_threshold_ = 0.1;
  std::int64_t suppress_percent_ = 65;
  std::unique_ptr<kube::memory::Server> api_;
  std::unique_ptr<net::HttpServer> server_;
  kube::memory::KindPtr metric_kind_;
  std::size_t node_bytes_ = 0;
  std::size_t pod_bytes_ = 0;
  std::size_t metric_bytes_ = 0;
  base::MonotonicTime mark_;
  std::string hash_before_;  // that nodes carried at the last `settings`
  std::uint64_t writes_ = 0;
  std::vector<base::Duration> latencies_;
  std::size_t next_ = 0;  // the node that reports next
  std::uint64_t next_pass_ = 0;
  bench::Lines lines_;
  net::Scope scope_;  // the last: what runs in it uses all the others
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto nodes = words.size() == 3 ? base::parse_uint(words[1]) : std::nullopt;
  const auto pods = words.size() == 3 ? base::parse_uint(words[2]) : std::nullopt;
  if (!nodes || !pods || *nodes == 0 || *nodes > 90'000 || *pods == 0 || *pods > 250) {
    std::fputs("usage: fleet_server DIR NODES PODS_A_NODE\n", stderr);
    return 2;
  }
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  const base::Log log = base::Log(clock, {base::LogLevel::kWarn, base::LogFormat::kText, nullptr}).named("fleet");
  FleetServer server(loop, log, {*nodes, *pods, kSeed});
  if (const auto started = server.start(words[0]); !started) {
    std::fputs(base::cat("fleet_server: ", started.error().message, "\n").c_str(), stderr);
    return 1;
  }
  loop.run();
  return server.failed() ? 1 : 0;
}
