#include "cli/doctor_cluster.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "agent/feature_gates.h"
#include "base/text.h"
#include "cli/peer_pods.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/specs/node_slo.h"
#include "manager/state/node_permit.h"
#include "model/isolation.h"
#include "model/names.h"
#include "operate/cluster_node.h"
#include "operate/cluster_now.h"
#include "operate/in_force.h"
#include "operate/list_pages.h"
#include "policy/explain/cluster_doctor_text.h"
#include "policy/explain/doctor/kubelet_configz.h"
#include "policy/explain/preview_text.h"
#include "policy/protect/node_rules.h"
#include "policy/sell/overcommit/overcommit.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/settings/nodeslo/nodeslo.h"
#include "policy/settings/nodeslo/read_rules.h"
#include "policy/waterline/calendar/holidays.h"

namespace tidemark::cli {
namespace {

using base::cat;

constexpr base::Duration kKubeletLimit = std::chrono::seconds(10);  // for the answer of one, behind the API server
constexpr std::size_t kAskedAtOnceMax = 8;
constexpr base::Duration kProgressEvery = std::chrono::seconds(1);
constexpr std::string_view kRunningPods = "status.phase=Running";

kube::NodeFields fields_of_nodes() {
  kube::NodeFields fields = manager::node_fields();
  fields.info = true;
  return fields;
}

class ClusterExamination {
 public:
  ClusterExamination(net::EventLoop& loop, kube::Client& client, const ClusterDoctorOptions& options)
      : loop_(loop), client_(client), options_(options), told_(loop.clock().monotonic()) {}

  net::Task<Result<ClusterDoctorReport>> run() {
    TM_CO_TRY_VOID(co_await read_nodes());
    TM_CO_TRY_VOID(co_await read_reports());
    co_await read_pods();
    TM_CO_TRY_VOID(
        co_await read_settings(client_, {options_.config_namespace, options_.config_name, options_.limit}, now_));
    in_force_.emplace(now_.maps, options_.zones);
    read_permits();
    co_await ask_kubelets();
    ClusterDoctorReport report;
    report.findings = policy::explain::cluster_findings(found_);
    report.notes = std::move(now_.notes);
    co_return report;
  }

 private:
  void progress(std::string_view what, std::size_t done, std::size_t of = 0) {
    const base::MonotonicTime now = loop_.clock().monotonic();
    if (now - told_ < kProgressEvery) return;
    told_ = now;
    options_.progress(of == 0 ? cat(what, ": ", done, " read") : cat(what, ": ", done, " of ", of));
  }

  net::Task<Result<void>> read_nodes() {
    TM_CO_TRY_VOID(co_await operate::list_pages(
        loop_, client_, kube::kNodes, {}, options_.limit,
        [&](std::string_view item) -> Result<void> {
          TM_TRY(auto node, kube::decode_node(item, fields_of_nodes(), now_.interner));
          now_.nodes.push_back(std::move(node));
          progress("nodes", now_.nodes.size());
          return {};
        },
        [&] { now_.nodes.clear(); }));
    for (const kube::Node& node : now_.nodes) found_.nodes.push_back(operate::cluster_node(node));
    co_return Result<void>();
  }

  net::Task<Result<void>> read_reports() {
    kube::NodeMetricFields fields;
    fields.pods = false;
    std::size_t read = 0;
    TM_CO_TRY_VOID(co_await operate::list_pages(
        loop_, client_, kube::kNodeMetrics, {}, options_.limit,
        [&](std::string_view item) -> Result<void> {
          TM_TRY(const auto metric, kube::decode_node_metric(item, fields, now_.interner));
          reported_.insert_or_assign(std::string(metric.meta.name.view()), metric.updated);
          progress("NodeMetrics", ++read);
          return {};
        },
        [&] { reported_.clear(); }));
    for (policy::explain::ClusterNode& node : found_.nodes) {
      const auto reported = reported_.find(node.name);
      if (reported == reported_.end()) {
        node.silent = model::Reason::kMetricMissing;
      } else if (!reported->second) {
        node.silent = model::Reason::kMetricWithoutTime;
      }
    }
    co_return Result<void>();
  }

  net::Task<void> read_pods() {
    PeerPods peers{options_.peers_namespace};
    std::size_t read = 0;
    kube::ListOptions running;
    running.field_selector = kRunningPods;
    const auto listed = co_await operate::list_pages(
        loop_, client_, kube::kPods, std::move(running), options_.limit,
        [&](std::string_view item) -> Result<void> {
          progress("pods", ++read);
          return peers.take(item);
        },
        [&] { peers = PeerPods{options_.peers_namespace}; });
    if (!listed) {
      found_.koord_managers.reset();
      found_.pods_unread = listed.error().message;
      co_return;
    }
    std::ranges::sort(peers.managers);
    found_.koord_managers = std::move(peers.managers);
    for (policy::explain::ClusterNode& node : found_.nodes) node.koordlet = peers.agents_on.contains(node.name);
  }

  // Settings that cannot be used leave all that rests on them unsaid.
  void read_permits() {
    std::vector<policy::waterline::NodeLabels> labels;
    for (std::size_t at = 0; at < now_.nodes.size(); ++at) {
      const kube::Node& node = now_.nodes[at];
      const auto settings = in_force_->on(node);
      if (!settings) {
        found_.settings_notes = {settings.error().message};
        found_.ages_known = false;
        return;
      }
      const manager::Revision& revision = (*settings)->revision;
      labels.push_back({model::NodeName(found_.nodes[at].name), manager::labels_of(node)});
      permit_of(node, revision, found_.nodes[at]);
      age_of_report(node, revision, labels.back().labels, found_.nodes[at]);
      if (at > 0) continue;
      pools_ = revision.tidemark;
      if (!(*settings)->notes.empty()) found_.settings_notes = lines_of((*settings)->notes);
    }
    read_settings_without_effect();
    if (!pools_) return;
    for (const policy::waterline::Calendar& calendar : pools_->calendars) {
      const auto end = policy::waterline::holidays_end_soon(calendar, loop_.clock().wall());
      if (end) found_.settings_notes.push_back(policy::explain::holidays_text(calendar, *end));
    }
    found_.pools = &*pools_;
    found_.overlaps = policy::waterline::overlaps(*pools_, labels);
  }

  static std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      out.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
  }

  void permit_of(const kube::Node& node, const manager::Revision& revision, policy::explain::ClusterNode& into) {
    manager::NodePermitInputs inputs;
    inputs.left = manager::left_to_others(node);
    inputs.desired = now_.desired ? &*now_.desired : nullptr;
    inputs.desired_known = now_.desired.has_value();
    inputs.overrides = now_.overrides_known();
    auto permit = manager::node_permit(node, revision.tidemark, &model::PoolModes::capacity, inputs,
                                       policy::state::SoldNow(), loop_.clock().wall());
    into.pool = std::move(permit.pool);
    // A mode in the settings of the pool is no forgotten order.
    const bool by_mode = permit.state.decided_by == model::Reason::kStateByMode;
    const bool on = permit.state.strictest() == model::NodeState::kOn && permit.state.classes_off.empty();
    if (!on && !by_mode) into.state = std::move(permit.state);
    into.unheeded = permit.trouble == model::Reason::kStateByLabel ? std::nullopt : permit.trouble;
    into.unheeded_why = std::move(permit.problem);
    if (into.unheeded || !permit.left.reason) return;
    into.unheeded = permit.left.reason;
    into.unheeded_why = std::move(permit.left.writer);
  }

  void age_of_report(const kube::Node& node, const manager::Revision& revision, std::span<const model::Label> labels,
                     policy::explain::ClusterNode& into) const {
    if (into.silent) return;
    model::ColocationStrategy strategy;
    if (revision.colocation.config) {
      const auto* own = node.meta.annotations.find(model::kColocationStrategyAnnotation);
      strategy = policy::sell::strategy_for(*revision.colocation.config, labels,
                                            own == nullptr ? std::nullopt : std::optional(own->view()))
                     .values;
    }
    if (policy::sell::is_stale(*reported_.at(into.name), strategy.degrade_time_minutes, loop_.clock().wall())) {
      into.silent = model::Reason::kMetricStale;
    }
  }

  net::Task<void> ask_kubelets() {
    found_.kubelets_wanted = options_.kubelets != 0U;
    if (!found_.kubelets_wanted) co_return;
    to_ask_ = policy::explain::kubelets_to_ask(found_.nodes, options_.kubelets);
    net::Event ended(loop_);
    std::size_t running = std::min(to_ask_.size(), kAskedAtOnceMax);
    const auto ask_on = [&]() -> net::Task<void> {
      while (next_ < to_ask_.size() && found_.kubelets_refused.empty()) co_await ask_kubelet(to_ask_[next_++]);
      if (--running == 0) ended.set();
    };
    if (running == 0) co_return;
    net::Scope scope(loop_);
    for (std::size_t i = running; i > 0; --i) scope.spawn(ask_on());
    co_await ended.wait();
  }

  net::Task<void> ask_kubelet(std::size_t at) {
    policy::explain::ClusterNode& node = found_.nodes[at];
    const std::string proxy = cat(kube::kNodes.plural, "/", node.name, "/proxy");
    const kube::Resource through{"", "v1", proxy, "the kubelet's configz", false};
    const auto answer = co_await client_.get(through, "", "configz", kKubeletLimit);
    progress("kubelets", next_, to_ask_.size());
    if (!answer && answer.error().kind == ErrorKind::kDenied) {
      found_.kubelets_refused = answer.error().message;
      co_return;
    }
    auto said = answer ? policy::explain::parse_kubelet_configz(*answer)
                       : Result<policy::evict::KubeletFound>(std::unexpected(answer.error()));
    if (!said) {
      node.kubelet_silent = said.error().message;
      co_return;
    }
    node.kubelet = std::move(*said);
    line_of(now_.nodes[at], node);
  }

  // What settings and koordlet's default gates ask of Tidemark's agents in vain, with the number of nodes.
  void read_settings_without_effect() {
    std::map<std::string, std::int64_t, std::less<>> nodes;
    for (std::size_t at = 0; at < now_.nodes.size(); ++at) {
      if (found_.nodes[at].koordlet) {
        ++nodes[cat("koordlet has these features on by default, Tidemark's agent does not have them: ",
                    agent::FeatureGates().on_without_effect())];
        continue;
      }
      if (const auto rules = rules_of(now_.nodes[at])) ++nodes[policy::protect::without_effect_text(*rules)];
    }
    for (const auto& [text, count] : nodes) {
      if (!text.empty()) found_.settings_notes.push_back(cat(text, ": ", count, count == 1 ? " node" : " nodes"));
    }
  }

  // As the node's agent would go by the settings in force now; nullopt: they cannot be used.
  std::optional<policy::protect::NodeRules> rules_of(const kube::Node& node) {
    const auto settings = in_force_->on(node);
    if (!settings) return std::nullopt;
    const auto decided =
        manager::decide_node_slo(&node, nullptr, (*settings)->revision, loop_.clock().wall(), now_.overrides_known());
    return policy::settings::next_node_rules({}, policy::settings::slo_spec_json(decided.spec)).rules;
  }

  void line_of(const kube::Node& node, policy::explain::ClusterNode& into) {
    if (const auto rules = rules_of(node)) into.ours.go_by(*rules);
  }

  net::EventLoop& loop_;
  kube::Client& client_;
  const ClusterDoctorOptions& options_;
  operate::ClusterNow now_;
  std::optional<operate::InForce> in_force_;                                    // once the settings were read
  std::map<std::string, std::optional<base::WallTime>, std::less<>> reported_;  // by node; nullopt: never
  std::optional<policy::waterline::TidemarkConfig> pools_;
  policy::explain::ClusterFound found_;
  std::vector<std::size_t> to_ask_;
  std::size_t next_ = 0;
  base::MonotonicTime told_;  // when of the progress
};

}  // namespace

net::Task<Result<ClusterDoctorReport>> examine_cluster(net::EventLoop& loop, kube::Client& client,
                                                       ClusterDoctorOptions options) {
  ClusterExamination examination(loop, client, options);
  co_return co_await examination.run();
}

std::string render_text(const ClusterDoctorReport& report) {
  std::string out = policy::explain::render_text(report.findings);
  for (const std::string& each : report.notes) out += cat("note: ", each, "\n");
  return out;
}

Json render_json(const ClusterDoctorReport& report) {
  Json out = policy::explain::render_json(report.findings);
  Json::Array notes(report.notes.begin(), report.notes.end());
  out["notes"] = Json(std::move(notes));
  return out;
}

}  // namespace tidemark::cli
