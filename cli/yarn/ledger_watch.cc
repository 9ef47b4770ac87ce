#include "cli/yarn/ledger_watch.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/text.h"
#include "kube/decode.h"
#include "kube/node_resource_topology.h"
#include "operate/list_pages.h"

namespace tidemark::cli {
namespace {

// So many at once: a pod is small once it is read.
constexpr int kPodsPage = 2000;
constexpr std::array<std::string_view, 3> kOurs{"tidemark-config", "tidemark-config-revisions", "tidemark-state"};
constexpr base::Duration kTryAgain = std::chrono::seconds(1);
constexpr base::Duration kAbsentAgain = std::chrono::seconds(30);  // a kind that the cluster does not have

std::optional<std::string> text_in(const std::map<std::string, std::string, std::less<>>& data, std::string_view key) {
  const auto at = data.find(key);
  return at == data.end() ? std::nullopt : std::optional(at->second);
}

std::string key_of(std::string_view ns, std::string_view name) {
  return base::cat(ns, "/", name);
}

// The labels of a node, and the annotation that is a part of its settings.
Json of_settings(const Json& node) {
  constexpr std::string_view kStrategy = "node.koordinator.sh/colocation-strategy";
  Json metadata = Json::object();
  if (const Json* labels = node.at("metadata", "labels")) metadata["labels"] = *labels;
  if (const Json* strategy = node.at("metadata", "annotations", kStrategy)) {
    metadata["annotations"] = Json::object({{kStrategy, *strategy}});
  }
  return Json::object({{"metadata", std::move(metadata)}});
}

}  // namespace

bool may_pass(const Error& error) {
  return error.kind != ErrorKind::kInvalid && error.kind != ErrorKind::kDenied && error.kind != ErrorKind::kUnsupported;
}

LedgerWatch::LedgerWatch(net::EventLoop& loop, kube::Client& client, Auditor& auditor, LedgerWatchOptions options)
    : loop_(loop), client_(client), auditor_(auditor), options_(std::move(options)), news_(loop), scope_(loop) {
  kinds_.push_back(kind_of_settings(options_.config_name));
  for (const std::string_view name : kOurs) kinds_.push_back(kind_of_settings(std::string(name)));
  kinds_.push_back(kind_of_nodes());
  kinds_.push_back(kind_of_metrics());
  kinds_.push_back(kind_of_topologies());
  kinds_.push_back(kind_of_pods());
  if (!options_.managers.clusters.empty()) managers_.emplace(loop, client, options_.managers);
}

void LedgerWatch::start() {
  for (Kind& kind : kinds_) scope_.spawn(follow(kind));
  if (managers_) scope_.spawn(managers_->follow([this](const Result<void>& done) { asked_managers(done); }));
}

void LedgerWatch::asked_managers(const Result<void>& done) {
  if (done && (!saw_all_ || blind_since_)) return look_again();
  if (done) {
    for (const auto& [name, rm] : managers_->without_node()) auditor_.without_node(name, rm);
    return see_all();
  }
  // It was whole until this very answer.
  if (!blind_since_ && saw_all_) {
    auditor_.look_away(loop_.clock().monotonic());
    blind_since_ = loop_.clock().monotonic();
  }
  count_failure(done.error());
}

// Each by itself: who may look at these ConfigMaps need not see others.
LedgerWatch::Kind LedgerWatch::kind_of_settings(const std::string& name) {
  Kind kind;
  kind.resource = kube::kConfigMaps;
  kind.ns = options_.config_namespace;
  kind.field_selector = base::cat("metadata.name=", name);
  kind.begin = [this, name] { maps_.erase(name); };
  kind.take = [this, name](std::string_view object) -> Result<void> {
    TM_TRY(const Json map, Json::parse(object));
    Data data;
    if (const Json* members = map.member("data"); members != nullptr && members->is_object()) {
      for (const auto& [key, text] : members->as_object()) {
        if (text.is_string()) data.emplace(key, text.as_string());
      }
    }
    maps_[name] = std::move(data);
    if (whole() && read_settings()) see_all();
    return {};
  };
  kind.drop = [this, name](const std::string&, const std::string&) {
    if (maps_.erase(name) > 0 && whole() && read_settings()) see_all();
  };
  return kind;
}

LedgerWatch::Kind LedgerWatch::kind_of_nodes() {
  Kind kind;
  kind.resource = kube::kNodes;
  kind.begin = [this] {
    nodes_.clear();
    if (managers_) managers_->clear();
  };
  kind.take = [this](std::string_view object) -> Result<void> {
    TM_TRY(const Json node, Json::parse(object));
    if (managers_) managers_->put(node);
    Node read{of_settings(node), sight_of(node, settings_ ? *settings_ : AuditSettings())};
    const std::string name = read.sight.node;
    nodes_.insert_or_assign(name, std::move(read));
    see(name);
    return {};
  };
  kind.drop = [this](const std::string&, const std::string& name) {
    nodes_.erase(name);
    if (managers_) managers_->drop(name);
    auditor_.gone(name, loop_.clock().monotonic());
  };
  return kind;
}

LedgerWatch::Kind LedgerWatch::kind_of_metrics() {
  Kind kind;
  kind.resource = kube::kNodeMetrics;
  kind.begin = [this] { metrics_.clear(); };
  kind.take = [this](std::string_view object) -> Result<void> {
    TM_TRY(const Json metric, Json::parse(object));
    const std::string name(metric.text_at("metadata", "name"));
    metrics_.insert_or_assign(name, read_metric(metric));
    see(name);
    return {};
  };
  kind.drop = [this](const std::string&, const std::string& name) {
    metrics_.erase(name);
    see(name);
  };
  return kind;
}

LedgerWatch::Kind LedgerWatch::kind_of_topologies() {
  Kind kind;
  kind.resource = kube::kNodeResourceTopologies;
  kind.begin = [this] { zones_.clear(); };
  kind.take = [this](std::string_view object) -> Result<void> {
    TM_TRY(const Json topology, Json::parse(object));
    const std::string name(topology.text_at("metadata", "name"));
    zones_.insert_or_assign(name, read_zones(topology));
    see(name);
    return {};
  };
  kind.drop = [this](const std::string&, const std::string& name) {
    zones_.erase(name);
    see(name);
  };
  return kind;
}

LedgerWatch::Kind LedgerWatch::kind_of_pods() {
  Kind kind;
  kind.resource = kube::kPods;
  kind.field_selector = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=";
  kind.page_size = kPodsPage;
  kind.begin = [this] { pods_ = {}; };
  kind.take = [this](std::string_view object) -> Result<void> {
    TM_TRY(auto identity, kube::read_identity(object));
    TM_TRY(AuditPod pod, read_pod(object));
    put_pod(key_of(identity.ns, identity.name), std::move(pod));
    return {};
  };
  kind.drop = [this](const std::string& ns, const std::string& name) { drop_pod(key_of(ns, name)); };
  return kind;
}

void LedgerWatch::put_pod(const std::string& key, AuditPod pod) {
  const auto [at, added] = pods_.by_key.try_emplace(key);
  const std::string node = pod.node;
  if (!added && at->second.node != node) {
    drop_pod(key);
    return put_pod(key, std::move(pod));
  }
  at->second = std::move(pod);
  if (added) pods_.keys_on[node].push_back(key);
  see(node);
}

void LedgerWatch::drop_pod(const std::string& key) {
  const auto at = pods_.by_key.find(key);
  if (at == pods_.by_key.end()) return;
  const std::string node = std::move(at->second.node);
  pods_.by_key.erase(at);
  if (const auto on = pods_.keys_on.find(node); on != pods_.keys_on.end()) {
    std::erase(on->second, key);
    if (on->second.empty()) pods_.keys_on.erase(on);
  }
  see(node);
}

net::Task<void> LedgerWatch::follow(Kind& kind) {
  while (true) {
    auto revision = co_await list(kind);
    if (!revision) {
      failed(kind, revision.error());
      co_await loop_.sleep(kTryAgain);
      continue;
    }
    if (revision->empty()) {
      found(kind);
      co_await loop_.sleep(kAbsentAgain);
      continue;
    }
    const auto watched = co_await watch(kind, *revision);
    failed(kind, watched.error());  // a watch that ends properly goes on
    co_await loop_.sleep(kTryAgain);
  }
}

net::Task<Result<std::string>> LedgerWatch::list(Kind& kind) {
  kube::ListOptions options;
  options.ns = kind.ns;
  options.field_selector = kind.field_selector;
  options.page_size = kind.page_size;
  kind.begin();
  auto revision = co_await operate::list_pages(loop_, client_, kind.resource, std::move(options), options_.limit,
                                               kind.take, kind.begin);
  co_return revision;
}

// Until it fails.
net::Task<Result<void>> LedgerWatch::watch(Kind& kind, std::string& revision) {
  while (true) {
    kube::WatchOptions options;
    options.ns = kind.ns;
    options.field_selector = kind.field_selector;
    options.resource_version = revision;
    const auto open = std::make_shared<bool>(false);
    scope_.spawn(lose_if_not(kind, open));
    TM_CO_TRY(auto stream, co_await client_.watch(kind.resource, std::move(options)));
    *open = true;
    if (!kind.followed) found(kind);
    const base::MonotonicTime began = loop_.clock().monotonic();
    while (true) {
      TM_CO_TRY(const auto event, co_await stream->next());
      if (!event) break;
      TM_CO_TRY(auto identity, kube::read_identity(event->object));
      revision = identity.resource_version;
      if (event->type == kube::EventType::kDeleted) {
        kind.drop(identity.ns, identity.name);
      } else if (event->type != kube::EventType::kBookmark) {
        TM_CO_TRY_VOID(kind.take(event->object));
      }
    }
    if (loop_.clock().monotonic() - began < kTryAgain) co_await loop_.sleep(kTryAgain);
  }
}

// A watch that takes long to open sees late what happens meanwhile.
net::Task<void> LedgerWatch::lose_if_not(Kind& kind, std::shared_ptr<const bool> open) {
  co_await loop_.sleep(kTryAgain);
  if (!*open) lose(kind);
}

void LedgerWatch::lose(Kind& kind) {
  look_away();
  kind.followed = false;
}

void LedgerWatch::look_away() {
  if (!whole()) return;
  auditor_.look_away(loop_.clock().monotonic());
  blind_since_ = loop_.clock().monotonic();
}

bool LedgerWatch::whole() const {
  return settings_.has_value() && std::ranges::all_of(kinds_, &Kind::followed) && (!managers_ || managers_->followed());
}

void LedgerWatch::failed(Kind& kind, const Error& error) {
  lose(kind);
  count_failure(error);
}

void LedgerWatch::count_failure(const Error& error) {
  ++failed_.count;
  failed_.last = error.message;
  if (!saw_all_ && !may_pass(error)) hopeless_ = error;
  news_.set();
}

void LedgerWatch::found(Kind& kind) {
  kind.followed = true;
  look_again();
}

void LedgerWatch::look_again() {
  if (!std::ranges::all_of(kinds_, &Kind::followed)) return;
  read_settings();
  if (!whole()) return;
  if (blind_since_) failed_.blind += loop_.clock().monotonic() - *std::exchange(blind_since_, std::nullopt);
  saw_all_ = true;
  see_all();
  news_.set();
}

FailedLooks LedgerWatch::failed() const {
  FailedLooks all = failed_;
  if (blind_since_) all.blind += loop_.clock().monotonic() - *blind_since_;
  return all;
}

// Settings that cannot be read leave the last good ones.
bool LedgerWatch::read_settings() {
  static const Data kNone;
  const auto data = [this](std::string_view name) -> const Data& {
    const auto at = maps_.find(name);
    return at == maps_.end() ? kNone : at->second;
  };
  auto read = AuditSettings::read(
      {text_in(data(options_.config_name), "colocation-config"), text_in(data("tidemark-config"), "config.yaml")},
      data("tidemark-config-revisions"));
  if (!read) {
    ++failed_.count;
    failed_.last = read.error().message;
    if (!settings_) hopeless_ = std::move(read).error();
    news_.set();
    return false;
  }
  read->take_overrides(text_in(data("tidemark-state"), "overrides.json"), loop_.clock().wall());
  settings_ = std::move(*read);
  for (auto& [name, node] : nodes_) node.sight.rules = settings_->of(node.of_settings);
  return true;
}

void LedgerWatch::see(const std::string& name) {
  if (!whole()) return;
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) return;
  AuditSight sight = node->second.sight;
  if (const auto metric = metrics_.find(name); metric != metrics_.end()) take_metric(sight, metric->second);
  if (const auto zones = zones_.find(name); zones != zones_.end()) take_zones(sight, zones->second);
  if (const auto on = pods_.keys_on.find(name); on != pods_.keys_on.end()) {
    for (const std::string& key : on->second) take_pod(sight, pods_.by_key.at(key));
  }
  if (managers_) {
    if (const auto rm = managers_->of(name)) take_rm(sight, *rm);
  }
  auditor_.see(sight, loop_.clock().monotonic(), loop_.clock().wall());
}

void LedgerWatch::see_all() {
  for (const auto& [name, node] : nodes_) see(name);
}

void LedgerWatch::tick() {
  if (!whole()) return;
  const auto changes_at = settings_->changes_at();
  if (changes_at && *changes_at <= loop_.clock().wall() && read_settings()) see_all();
  auditor_.until(loop_.clock().monotonic(), loop_.clock().wall());
}

}  // namespace tidemark::cli
