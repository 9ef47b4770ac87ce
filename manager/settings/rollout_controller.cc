#include "manager/settings/rollout_controller.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "policy/explain/rollout_text.h"

namespace tidemark::manager {
namespace {

using model::Reason;

constexpr base::Duration kOverlapsPause = std::chrono::minutes(1);   // between two looks at all nodes' labels
constexpr base::Duration kEvictionsWait = std::chrono::seconds(10);  // for the first list of ended pods

std::vector<std::string> hashes(const policy::settings::RolloutState& state) {
  std::vector<std::string> found;
  found.reserve(state.layers.size());
  for (const auto& layer : state.layers) found.push_back(layer.revision);
  return found;
}

// Logs a paused state once, and each change.
bool is_standing(Reason reason) {
  return reason == Reason::kRolloutCanary || reason == Reason::kRolloutSoaking || reason == Reason::kRolloutFleet ||
         reason == Reason::kRolloutHeld || reason == Reason::kRolloutBlind || reason == Reason::kRolloutTooMany ||
         reason == Reason::kRolloutTooLarge;
}

bool needs_operator(Reason reason) {
  return reason == Reason::kRolloutEvictionSpike || reason == Reason::kRolloutBlind ||
         reason == Reason::kRolloutTooMany || reason == Reason::kRolloutTooLarge;
}

}  // namespace

RolloutController::RolloutController(const Shared& shared, const SettingsContext& context, base::Random random,
                                     std::function<void(const SettingsChange&)> on_change,
                                     std::function<void()> without_tidemark)
    : shared_(shared),
      context_(context),
      log_(shared.log),
      random_(random),
      on_change_(std::move(on_change)),
      without_tidemark_(std::move(without_tidemark)),
      store_(shared, context.config_namespace, context.write_limit, random_.fork(), [this] { store_changed(); }),
      wake_(shared.loop),
      number_(shared.metrics.gauge("tidemark_settings_revision", "Number of the newest revision that was taken.")),
      nodes_(shared.metrics.gauge("tidemark_settings_nodes", "Nodes that settings are for.")),
      behind_(shared.metrics.gauge("tidemark_settings_nodes_behind",
                                   "Nodes on which an older revision than the newest is in force.")),
      unconfirmed_(shared.metrics.gauge("tidemark_settings_nodes_unconfirmed",
                                        "Nodes that do not carry the hash of the revision in force on them.")),
      held_(shared.metrics.gauge("tidemark_settings_held", "1 while a rollout is paused.")),
      overlapping_(shared.metrics.gauge("tidemark_pool_overlap_nodes",
                                        "Nodes that the selectors of two pools match; the first one has them.")),
      store_errors_(shared.metrics.counter("tidemark_settings_store_errors_total",
                                           "Writes of the stored revisions that failed.")),
      decisions_(shared.metrics.counter("tidemark_settings_rollout_decisions_total",
                                        "How often the next step of a rollout was decided.")),
      scope_(shared.loop) {}

void RolloutController::start() {
  store_.start();
  scope_.spawn(run());
}

// ---- what is in force ----

const Revision& RolloutController::revision(std::string_view hash) const {
  const auto found = revisions_.find(hash);
  return found == revisions_.end() ? *source_ : *found->second;
}

// The settings in force before an edit; where they have no say, those of the edit.
const policy::waterline::TidemarkConfig& RolloutController::governing() const {
  if (state_.layers.empty()) return source_->tidemark;
  const Revision& bottom = revision(state_.layers.front().revision);
  if (bottom.texts.tidemark) return bottom.tidemark;
  if (source_usable_ && source_->hash != state_.target()) return source_->tidemark;
  return revision(state_.target()).tidemark;
}

bool RolloutController::canary(const kube::Node& node) const {
  return policy::waterline::pool_of(governing(), node.meta.labels).canary;
}

const Revision& RolloutController::for_node(const kube::Node& node) const {
  if (state_.layers.empty()) return *source_;
  if (state_.layers.size() == 1) return revision(state_.target());
  return revision(policy::settings::in_force(state_, node.meta.name, canary(node)));
}

const Revision& RolloutController::for_node(const model::NodeName& name) const {
  const kube::Node* node = context_.nodes == nullptr ? nullptr : context_.nodes->find({"", name.value});
  if (node != nullptr) return for_node(*node);
  return state_.layers.empty() ? *source_ : revision(policy::settings::in_force(state_, name.value, false));
}

std::vector<const Revision*> RolloutController::in_force() const {
  if (state_.layers.empty()) return {source_.get()};
  std::vector<const Revision*> found;
  found.reserve(state_.layers.size());
  for (const auto& layer : state_.layers) found.push_back(&revision(layer.revision));
  return found;
}

const model::Pool& RolloutController::pool_of(const kube::Node& node) const {
  return policy::waterline::pool_of(for_node(node).tidemark, node.meta.labels);
}

// False if the texts of a layer are missing or unreadable; then this state cannot be used.
bool RolloutController::build(const policy::settings::RolloutState& state, const policy::settings::RevisionBook& book) {
  Revisions built;
  for (const auto& layer : state.layers) {
    if (built.contains(layer.revision)) continue;
    if (const auto have = revisions_.find(layer.revision); have != revisions_.end()) {
      built.insert(*have);
    } else if (const auto* stored = policy::settings::find_revision(book, layer.revision)) {
      auto read = revision_of(stored->texts, context_.zones);
      if (!read) return false;
      read->colocation.error = source_->colocation.error;
      built.emplace(layer.revision, std::make_shared<Revision>(std::move(*read)));
    } else if (source_->hash == layer.revision) {
      built.emplace(layer.revision, source_);
    } else {
      return false;
    }
  }
  revisions_ = std::move(built);
  return true;
}

const Revision* RolloutController::load() {
  loaded_ = true;
  store_changed();
  return state_.layers.empty() ? nullptr : &revision(state_.target());
}

void RolloutController::source_changed(const Revision& newest, bool usable) {
  source_ = std::make_shared<Revision>(newest);
  source_usable_ = usable;
  bool error_changed = false;
  // Whether the ConfigMap can be read now is no part of a revision, and the same for all.
  for (auto& [hash, held] : revisions_) {
    if (held->colocation.error == newest.colocation.error) continue;
    auto copy = std::make_shared<Revision>(*held);
    copy->colocation.error = newest.colocation.error;
    held = std::move(copy);
    error_changed = true;
  }
  if (state_.layers.empty() || error_changed) on_change_({});
  wake_.set();
}

void RolloutController::store_changed() {
  wake_.set();
  if (!loaded_) return;
  const policy::settings::Stored& stored = store_.stored();
  if (!store_.exists() || stored.state == last_stored_) {
    last_stored_ = stored.state;
    return;
  }
  // Written by the leader, or by the process before this one.
  last_stored_ = stored.state;
  if (stored.state) adopt(*stored.state, stored.book);
}

std::vector<std::pair<model::NodeName, std::string>> RolloutController::running() const {
  std::vector<std::pair<model::NodeName, std::string>> found;
  if (context_.nodes == nullptr) return found;
  context_.nodes->for_each([&](const kube::ObjectKey& key, const kube::Node& node) {
    found.emplace_back(model::NodeName(key.name), for_node(node).hash);
  });
  return found;
}

void RolloutController::adopt(policy::settings::RolloutState state, policy::settings::RevisionBook book) {
  const auto before = running();
  const std::string hash_before = for_node(model::NodeName()).hash;
  if (!build(state, book)) {
    log_.warn("the texts of a revision in force are missing or unreadable; the ConfigMaps apply everywhere",
              {{"config_map", model::kRevisionsName}});
    state = {};
    revisions_.clear();
  }
  state_ = std::move(state);
  book_ = std::move(book);

  std::vector<model::NodeName> changed;
  for (const auto& [name, hash] : before) {
    if (for_node(name).hash != hash) changed.push_back(name);
  }
  const bool unseen = before.empty() && for_node(model::NodeName()).hash != hash_before;
  if (unseen || changed.size() * 2 > before.size()) return on_change_({});
  for (const auto& name : changed) on_change_({name});
}

// ---- steps ----

net::Task<void> RolloutController::run() {
  while (true) {
    wake_.clear();
    co_await tick();
    show();
    co_await wake_.wait_for(policy::settings::kRolloutStep);
  }
}

net::Task<void> RolloutController::tick() {
  if (!loaded_ || !source_usable_ || !context_.leading()) co_return;
  if (held_by_newer()) co_return;
  const auto request = store_.stored().request;
  const bool asked = request && request->id != state_.request;
  if (asked && request->verb == policy::settings::RolloutRequest::Verb::kTake) {
    const auto* wanted = policy::settings::find_revision(book_, request->revision);
    if (wanted != nullptr && !wanted->texts.tidemark) without_tidemark_();
  }
  const bool settled = state_.phase == policy::settings::Phase::kSettled && !state_.layers.empty();
  if (!settled || asked || state_.hold || source_->hash != state_.target()) {
    const bool only_stops = source_only_stops();
    if (!only_stops && watches_evictions()) co_await context_.evictions->wait_synced(kEvictionsWait);
    std::vector<policy::settings::RolloutNode> nodes;
    auto seen = observe(nodes);
    seen.only_stops = only_stops;
    auto step = policy::settings::step(state_, seen, governing().rollout, shared_.loop.clock().wall());
    decisions_.add();
    if (step.plan.store) {
      policy::settings::RevisionBook book = book_;
      const bool taken = state_.layers.empty() || step.state.target() != state_.target();
      if (taken && step.state.target() == source_->hash) {
        book = policy::settings::with_revision(std::move(book), source_->texts, hashes(step.state),
                                               shared_.loop.clock().wall());
      }
      if (step.state.phase == policy::settings::Phase::kSettled) {
        for (auto& each : book) each.completed = each.completed || each.hash == step.state.target();
        adopt(step.state, book);
      } else {
        auto written = co_await store_.write(book, step.state);
        if (!written) {
          store_errors_.add();
          log_.warn("cannot store a rollout step; the step is not taken; retrying",
                    {{"config_map", model::kRevisionsName}, {"error", written.error()}});
          co_return;
        }
        last_stored_ = store_.stored().state;
        adopt(step.state, book);
      }
    }
    tell(step.plan, step.state, book_);
  }
  co_await keep();
}

// What a newer version wrote is not written over, so nothing is rolled out. A switch off is obeyed all the same.
bool RolloutController::held_by_newer() {
  if (!store_.stored().newer) {
    newer_told_.clear();
    return false;
  }
  if (!state_.layers.empty() && source_->hash != state_.target() && source_only_stops()) {
    policy::settings::RolloutState off;
    off.layers = {{source_->hash, std::string(policy::settings::kAllNodes), std::string(policy::settings::kAllNodes)}};
    adopt(std::move(off), book_);
  }
  if (newer_told_ == store_.stored().problem) return true;
  newer_told_ = store_.stored().problem;
  const std::string text = base::cat(
      "a newer version wrote the stored settings; they stay unchanged, and nothing is rolled out: ", newer_told_);
  log_.error("settings", {{"what", text}, {"config_map", model::kRevisionsName}});
  shared_.recorder.record(store_.reference(), kube::EventSeverity::kWarning, "SettingsRolloutHeld", text);
  return true;
}

// From whatever is in force anywhere: else more than the switch would change somewhere.
bool RolloutController::source_only_stops() const {
  return !revisions_.empty() && std::ranges::all_of(revisions_, [&](const auto& entry) {
    return policy::settings::only_switches_off(entry.second->texts, source_->texts);
  });
}

bool RolloutController::watches_evictions() const {
  const policy::waterline::RolloutSettings& settings = governing().rollout;
  return settings.staged && settings.evictions.watched && !state_.layers.empty() && context_.evictions != nullptr;
}

policy::settings::RolloutObservation RolloutController::observe(std::vector<policy::settings::RolloutNode>& nodes) {
  const policy::waterline::TidemarkConfig& governs = governing();
  if (context_.nodes != nullptr) {
    context_.nodes->for_each([&](const kube::ObjectKey&, const kube::Node& node) {
      const model::Pool& pool = policy::waterline::pool_of(governs, node.meta.labels);
      nodes.push_back({node.meta.name, pool.canary, pool.name});
    });
  }
  policy::settings::RolloutObservation seen;
  seen.source = source_->hash;
  seen.nodes = nodes;
  seen.request = store_.stored().request;
  if (!state_.layers.empty() && source_->hash != state_.target()) {
    seen.keepable = policy::settings::fits(book_, source_->texts, hashes(state_));
  }
  if (watches_evictions()) {
    seen.evictions =
        context_.evictions->count(governs.rollout.evictions.window, [&](std::string_view name) -> std::string {
          const kube::Node* node = context_.nodes == nullptr ? nullptr : context_.nodes->find({"", std::string(name)});
          return node == nullptr ? "" : policy::waterline::pool_of(governs, node->meta.labels).name;
        });
  }
  return seen;
}

net::Task<void> RolloutController::keep() {
  if (state_.layers.empty()) co_return;
  if (store_.exists() && policy::settings::stored_changes(store_.stored(), book_, state_).empty()) co_return;
  auto written = co_await store_.write(book_, state_);
  if (!written) {
    store_errors_.add();
    log_.warn("cannot store the settings in force; retrying",
              {{"config_map", model::kRevisionsName}, {"error", written.error()}});
    co_return;
  }
  last_stored_ = store_.stored().state;
}

// ---- what people see ----

void RolloutController::tell(const policy::settings::RolloutPlan& plan, const policy::settings::RolloutState& state,
                             const policy::settings::RevisionBook& book) {
  if (plan.moved > 0) log_.info("moving nodes to new settings", {{"moved", plan.moved}, {"behind", plan.waiting}});
  for (const Reason reason : plan.reasons) {
    if (is_standing(reason)) {
      if (standing_ == reason) continue;
      standing_ = reason;
    } else {
      standing_.reset();
      if (reason == Reason::kRolloutEvictionSpike) standing_ = reason;
    }
    shared_.metrics
        .counter("tidemark_settings_rollout_steps_total", "What happened to new settings.",
                 {{"reason", model::reason_id(reason)}})
        .add();
    const std::string text = policy::explain::render_text(reason, state, book, plan);
    if (needs_operator(reason)) {
      log_.warn("settings", {{"what", text}});
    } else {
      log_.info("settings", {{"what", text}});
    }
    // A start is no event, nor is what every edit does where there are no steps.
    if (reason == Reason::kRolloutFirst || reason == Reason::kRolloutAtOnce || !store_.exists()) continue;
    shared_.recorder.record(store_.reference(),
                            needs_operator(reason) ? kube::EventSeverity::kWarning : kube::EventSeverity::kNormal,
                            policy::explain::event_reason(reason), text);
  }
}

void RolloutController::show() {
  if (!loaded_ || context_.nodes == nullptr) return;
  const auto* newest = state_.layers.empty() ? nullptr : policy::settings::find_revision(book_, state_.target());
  number_.set(newest == nullptr ? 0 : static_cast<double>(newest->number));
  held_.set(state_.hold || store_.stored().newer ? 1 : 0);
  std::int64_t all = 0;
  std::int64_t behind = 0;
  std::int64_t unconfirmed = 0;
  std::map<std::string, std::int64_t> pools;
  for (const auto& [name, gauge] : pool_nodes_) pools[name] = 0;
  context_.nodes->for_each([&](const kube::ObjectKey&, const kube::Node& node) {
    ++all;
    const Revision& here = for_node(node);
    if (!state_.layers.empty() && here.hash != state_.target()) ++behind;
    if (node.meta.annotations.get(model::kConfigHashAnnotation) != here.hash && context_.writes(node)) ++unconfirmed;
    ++pools[policy::waterline::pool_of(here.tidemark, node.meta.labels).name];
  });
  nodes_.set(static_cast<double>(all));
  behind_.set(static_cast<double>(behind));
  unconfirmed_.set(static_cast<double>(unconfirmed));
  for (const auto& [name, count] : pools) {
    base::Gauge*& gauge = pool_nodes_[name];
    if (gauge == nullptr) gauge = &shared_.metrics.gauge("tidemark_pool_nodes", "Nodes of a pool.", {{"pool", name}});
    gauge->set(static_cast<double>(count));
  }
  if (overlaps_of_ != source_ || shared_.loop.clock().monotonic() - overlaps_looked_ >= kOverlapsPause) show_overlaps();
}

void RolloutController::show_overlaps() {
  overlaps_of_ = source_;
  overlaps_looked_ = shared_.loop.clock().monotonic();
  std::vector<policy::waterline::NodeLabels> nodes;
  if (source_->tidemark.pools.size() > 1) {
    context_.nodes->for_each([&](const kube::ObjectKey& key, const kube::Node& node) {
      auto& each = nodes.emplace_back(policy::waterline::NodeLabels{model::NodeName(key.name), {}});
      for (const auto& label : node.meta.labels) {
        each.labels.push_back({std::string(label.key), std::string(label.value)});
      }
    });
  }
  std::int64_t overlapping = 0;
  std::string told;
  for (const auto& overlap : policy::waterline::overlaps(source_->tidemark, nodes)) {
    overlapping += overlap.nodes;
    told += base::cat(told.empty() ? "" : "; ", policy::explain::render_text(overlap));
  }
  overlapping_.set(static_cast<double>(overlapping));
  if (told == overlaps_told_) return;
  overlaps_told_ = told;
  if (told.empty()) return;
  log_.warn("pools overlap", {{"what", told}});
  shared_.recorder.record({"v1", "ConfigMap", context_.config_namespace, std::string(model::kTidemarkConfigName), ""},
                          kube::EventSeverity::kWarning, policy::explain::event_reason(Reason::kPoolOverlap), told);
}

}  // namespace tidemark::manager
