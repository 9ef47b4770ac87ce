#include "console/view.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "model/names.h"
#include "operate/cluster_node.h"
#include "policy/explain/cluster_doctor_text.h"
#include "policy/explain/preview_text.h"
#include "policy/state/mark.h"
#include "policy/waterline/calendar/holidays.h"

namespace tidemark::console {
namespace {

constexpr std::string_view kByNode = "node";
// Time alone makes a report stale and a calendar move, so every row is computed again after this.
constexpr base::Duration kAllRowsEvery = std::chrono::seconds(10);
constexpr base::Duration kFindingsEvery = std::chrono::seconds(5);
constexpr std::size_t kMapBytesMax = 2 * 1024 * 1024;

kube::InformerConfig informer(const kube::Resource& resource, std::size_t bytes_max) {
  kube::InformerConfig config;
  config.resource = resource;
  config.bytes_max = bytes_max;
  return config;
}

std::vector<model::Label> labels_of(const kube::Node& node) {
  std::vector<model::Label> labels;
  for (const auto& label : node.meta.labels) labels.push_back({std::string(label.key), std::string(label.value)});
  return labels;
}

std::optional<model::Reason> silence_of(const NodeReport* report, Report state) {
  if (report == nullptr) return model::Reason::kMetricMissing;
  if (!report->updated) return model::Reason::kMetricWithoutTime;
  return state == Report::kStale ? std::optional(model::Reason::kMetricStale) : std::nullopt;
}

// A node as `tidemark doctor cluster` takes it, without what only kubelets know.
policy::explain::ClusterNode found_on(const kube::Node& node, const NodeReport* report, const NodeRow& row,
                                      const model::Pool& pool, base::WallTime now) {
  policy::explain::ClusterNode out = operate::cluster_node(node);
  out.silent = silence_of(report, row.report);
  out.pool = row.pool;
  const auto text = [](const kube::Text* found) {
    return found == nullptr ? std::nullopt : std::optional(found->view());
  };
  auto reading = policy::state::read_marks(text(node.meta.labels.find(model::kStateLabel)),
                                           text(node.meta.annotations.find(model::kStateDetailAnnotation)));
  policy::state::EffectiveState state = policy::state::effective(reading.marks, pool.modes.capacity, now);
  const bool by_mode = state.decided_by == model::Reason::kStateByMode;
  const bool on = state.strictest() == model::NodeState::kOn && state.classes_off.empty();
  if (!on && !by_mode) out.state = std::move(state);
  if (reading.trouble && *reading.trouble != model::Reason::kStateByLabel) {
    out.unheeded = reading.trouble;
    out.unheeded_why = std::move(reading.problem);
  }
  return out;
}

}  // namespace

View::View(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Registry& metrics,
           base::Random random, ViewOptions options)
    : loop_(loop),
      log_(log.named("view")),
      metrics_(metrics),
      options_(std::move(options)),
      interner_(metrics, "console"),
      nodes_({loop, client, client, log_, metrics, random.fork()}, informer(kube::kNodes, kNodesMax * kNodeBytes),
             [this](std::string_view bytes) { return kube::decode_node(bytes, node_fields(), interner_); }),
      reports_({loop, client, client, log_, metrics, random.fork()},
               informer(kube::kNodeMetrics, kNodesMax * kReportBytes),
               [this](std::string_view bytes) { return decode_node_report(bytes, interner_); }),
      tasks_({loop, client, client, log_, metrics, random.fork()}, informer(kube::kPods, kTasksMax * kTaskBytes),
             [this](std::string_view bytes) { return decode_task(bytes, interner_); }),
      settings_(options_.zones),
      scope_(loop) {
  tasks_.hold_only([](const Task& task) { return task.offline; });
  tasks_.add_index(std::string(kByNode),
                   [](const Task& task) { return std::vector<std::string>{std::string(task.node.view())}; });
  nodes_.subscribe([this](const kube::ObjectKey& key, const kube::Node* before, const kube::Node* after) {
    if (after != nullptr) evicted_.see(before, *after);
    dirty_.insert(key.name);
    findings_dirty_ = true;
  });
  reports_.subscribe(
      [this](const kube::ObjectKey& key, const NodeReport*, const NodeReport*) { dirty_.insert(key.name); });
  tasks_.subscribe([this](const kube::ObjectKey&, const Task* before, const Task* after) {
    evicted_.see(before, after, loop_.clock().wall());
    for (const Task* each : {before, after}) {
      if (each != nullptr && !each->node.empty()) dirty_.emplace(each->node.view());
    }
    ++version_;
  });
  for (const std::string_view name : {std::string_view(options_.config_name), model::kTidemarkConfigName,
                                      model::kStateName, operate::kOffProgressName}) {
    watch_map(name, client, metrics, random.fork());
  }
}

void View::watch_map(std::string_view name, kube::Client& client, base::Registry& metrics, base::Random random) {
  kube::InformerConfig config = informer(kube::kConfigMaps, kMapBytesMax);
  config.name = name;
  config.ns = options_.config_namespace;
  config.field_selector = base::cat("metadata.name=", name);
  config.may_be_absent = name == operate::kOffProgressName;  // without the right to read it, evictions are not shown
  maps_.push_back(std::make_unique<kube::Informer<kube::ConfigMap>>(
      kube::InformerParts{loop_, client, client, log_, metrics, std::move(random)}, std::move(config),
      [this](std::string_view bytes) {
        return kube::decode_config_map(bytes, {}, kube::KeyFilter::all(), interner_);
      }));
  maps_.back()->subscribe([this, name = std::string(name)](const kube::ObjectKey&, const kube::ConfigMap*,
                                                           const kube::ConfigMap* after) { take_map(name, after); });
}

void View::take_map(std::string_view name, const kube::ConfigMap* map) {
  if (name == operate::kOffProgressName) {
    evictions_ = map == nullptr ? std::vector<operate::OffProgress>() : operate::progress_in(*map);
    evictions_new_ = true;
    return;
  }
  if (name == options_.config_name) settings_.take_colocation(map);
  if (name == model::kTidemarkConfigName) settings_.take_tidemark(map);
  if (name == model::kStateName) settings_.take_state(map);
  all_dirty_ = findings_dirty_ = true;
  ++version_;
}

void View::start() {
  since_ = loop_.clock().wall();
  scope_.spawn(nodes_.run());
  scope_.spawn(reports_.run());
  scope_.spawn(tasks_.run());
  for (const auto& map : maps_) scope_.spawn(map->run());
  scope_.spawn(passes());
}

bool View::synced() const {
  return nodes_.synced() && reports_.synced() && tasks_.synced() && maps_synced();
}

bool View::maps_synced() const {
  return std::ranges::all_of(maps_, [](const auto& map) { return map->synced(); });
}

Known View::known() const {
  return {reports_.synced(), tasks_.synced(), maps_synced()};
}

std::vector<SourceState> View::sources() const {
  std::vector<SourceState> out;
  const auto add = [&](std::string_view name, const kube::InformerCore& core) {
    SourceState state{name, core.synced(), core.over_budget(), std::nullopt, core.size()};
    if (core.unheard().lasts) state.silent = loop_.clock().monotonic() - core.last_contact();
    out.push_back(state);
  };
  add("nodes", nodes_.core());
  add("nodeMetrics", reports_.core());
  add("pods", tasks_.core());
  SourceState settings{"settings", maps_synced(), false, std::nullopt, 0};
  for (const auto& map : maps_) {
    const kube::InformerCore& core = map->core();
    settings.incomplete = settings.incomplete || core.over_budget();
    settings.objects += core.size();
    if (!core.unheard().lasts) continue;
    const base::Duration silent = loop_.clock().monotonic() - core.last_contact();
    settings.silent = std::max(settings.silent.value_or(silent), silent);
  }
  out.push_back(settings);
  return out;
}

const kube::Node* View::node(std::string_view name) const {
  return nodes_.find({"", std::string(name)});
}
const NodeReport* View::report(std::string_view name) const {
  return reports_.find({"", std::string(name)});
}
std::span<const Task* const> View::tasks_on(std::string_view node) const {
  return tasks_.by_index(kByNode, node);
}
void View::for_each_task(const std::function<void(const Task&)>& visit) const {
  tasks_.for_each([&](const kube::ObjectKey&, const Task& task) { visit(task); });
}

net::Task<void> View::passes() {
  while (true) {
    if (nodes_.synced()) pass();
    co_await loop_.sleep(kPass);
  }
}

void View::pass() {
  const base::WallTime now = loop_.clock().wall();
  const base::MonotonicTime mono = loop_.clock().monotonic();
  Change change;
  requests_.look(metrics_, now);
  if (const Known known = this->known(); known != known_) {
    known_ = known;
    all_dirty_ = findings_dirty_ = true;
  }
  if (all_dirty_ || mono - rows_at_ >= kAllRowsEvery) {
    nodes_.for_each([&](const kube::ObjectKey& key, const kube::Node&) { dirty_.insert(key.name); });
    rows_at_ = mono;
    all_dirty_ = false;
  }
  for (const auto& name : std::exchange(dirty_, {})) refresh_row(name, now, change);
  refresh_sums(change);
  if (!known_.reports || !known_.settings) {
    findings_dirty_ = true;  // a node without a report that could not be read is no finding
  } else if (findings_dirty_ || mono - findings_at_ >= kFindingsEvery) {
    findings_at_ = mono;
    findings_dirty_ = false;
    refresh_findings(now, change);
  }
  remember(now);
  count_gain(now);
  change.evictions = std::exchange(evictions_new_, false);
  const bool more = change.sums || change.findings || change.evictions;
  if (change.rows.empty() && change.gone.empty() && !more) return;
  ++version_;
  if (listener_) listener_(change);
}

void View::refresh_row(std::string_view name, base::WallTime now, Change& change) {
  const kube::Node* node = this->node(name);
  const auto at = rows_.find(name);
  if (node == nullptr) {
    if (at == rows_.end()) return;
    change.gone.push_back(at->first);
    rows_.erase(at);
    return;
  }
  NodeRow row = row_of(*node, report(name), tasks_on(name), settings_, known_, now);
  if (at != rows_.end() && at->second == row) return;
  const auto [kept, added] = rows_.insert_or_assign(std::string(name), std::move(row));
  change.rows.push_back(&kept->second);
}

void View::refresh_sums(Change& change) {
  if (change.rows.empty() && change.gone.empty()) return;
  Sums sums;
  PoolSums pools;
  for (const auto& [name, row] : rows_) {
    sums.add(row);
    pools[row.pool].add(row);
  }
  change.sums = sums != sums_ || pools != pool_sums_;
  sums_ = sums;
  pool_sums_ = std::move(pools);
}

void View::refresh_findings(base::WallTime now, Change& change) {
  policy::explain::ClusterFound found;
  found.kubelets_wanted = false;
  found.pools = &settings_.pools();
  std::vector<policy::waterline::NodeLabels> labels;
  nodes_.for_each([&](const kube::ObjectKey& key, const kube::Node& node) {
    const auto row = rows_.find(key.name);
    if (row == rows_.end()) return;
    found.nodes.push_back(found_on(node, report(key.name), row->second, settings_.pool_of(node), now));
    labels.push_back({model::NodeName(key.name), labels_of(node)});
  });
  std::ranges::sort(found.nodes, {}, &policy::explain::ClusterNode::name);
  std::ranges::sort(labels, {}, [](const policy::waterline::NodeLabels& each) { return each.node; });
  found.overlaps = policy::waterline::overlaps(settings_.pools(), labels);
  found.settings_notes = settings_.problems();
  for (const policy::waterline::Calendar& calendar : settings_.pools().calendars) {
    const auto end = policy::waterline::holidays_end_soon(calendar, now);
    if (end) found.settings_notes.push_back(policy::explain::holidays_text(calendar, *end));
  }
  auto findings = policy::explain::cluster_findings(found);
  std::erase_if(findings, [](const policy::explain::ClusterFinding& each) {
    return each.severity == policy::explain::Severity::kOk;
  });
  std::ranges::sort(findings, [](const policy::explain::ClusterFinding& a, const policy::explain::ClusterFinding& b) {
    return std::tuple(b.severity, a.topic, a.fact, a.said) < std::tuple(a.severity, b.topic, b.fact, b.said);
  });
  std::string shown = policy::explain::render_json(findings).dump();
  findings_ = std::move(findings);
  if (shown == findings_shown_) return;
  findings_shown_ = std::move(shown);
  change.findings = true;
}

void View::count_gain(base::WallTime now) {
  constexpr base::Duration kGapMax = std::chrono::minutes(1);  // a longer one is not counted: the machine slept
  const base::WallTime day{std::chrono::floor<std::chrono::days>(now.since_epoch)};
  if (sums_.unknown == sums_.nodes) {
    gain_at_.reset();
    return;
  }
  if (!gain_ || gain_->since < day) {
    gain_ = Gain{std::max(day, gain_ ? day : *since_), 0};
    gain_core_ms_ = 0;
  }
  if (gain_at_ && now > *gain_at_ && now - *gain_at_ <= kGapMax) {
    const auto passed_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - *gain_at_).count();
    gain_core_ms_ += sums_.cpu.offline * passed_ms / 1000;
    gain_->core_seconds = gain_core_ms_ / 1000;
  }
  gain_at_ = now;
}

const View::PointsOfTime* View::history_of(std::string_view pool) const {
  const auto found = pool_histories_.find(pool);
  return found == pool_histories_.end() ? nullptr : &found->second;
}

void View::remember(base::WallTime now) {
  const auto add = [now](PointsOfTime& points, const Sums& sums, base::Duration every, std::size_t points_max) {
    const std::int64_t step = std::chrono::duration_cast<std::chrono::seconds>(every).count();
    const std::int64_t at = std::chrono::floor<std::chrono::seconds>(now.since_epoch).count() / step * step;
    if (!points.empty() && points.back().at_s >= at) return;
    points.push_back({at, sums.unknown < sums.nodes, sums.cpu, sums.memory});
    if (points.size() > points_max) points.pop_front();
  };
  add(history_, sums_, kHistoryStep, kHistoryPointsMax);
  std::erase_if(pool_histories_, [this](const auto& each) { return !pool_sums_.contains(each.first); });
  for (const auto& [name, sums] : pool_sums_) {
    if (pool_histories_.size() >= kPoolHistoriesMax && !pool_histories_.contains(name)) continue;
    add(pool_histories_[name], sums, kPoolStep, kPoolPointsMax);
  }
}

}  // namespace tidemark::console
