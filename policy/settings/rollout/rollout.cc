#include "policy/settings/rollout/rollout.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/text.h"

namespace tidemark::policy::settings {
namespace {

using model::Reason;
using std::chrono::milliseconds;

constexpr base::Duration kMinute = std::chrono::minutes(1);
constexpr std::int64_t kEvictionsCountedMax = 1'000'000'000;  // so that no product below overflows

bool covers(const Layer& layer, const NodeMark& order, bool canary) {
  return order <= (canary ? layer.canaries : layer.others);
}

const std::string& running(const RolloutState& state, const NodeMark& order, bool canary) {
  for (auto layer = state.layers.rbegin(); layer != state.layers.rend() - 1; ++layer) {
    if (covers(*layer, order, canary)) return layer->revision;
  }
  return state.layers.front().revision;
}

void everywhere(RolloutState& state, std::string revision) {
  state.layers = {{std::move(revision), kAllNodes, kAllNodes}};
  state.phase = Phase::kSettled;
  state.baselines.reset();
}

// Layers that no node runs any more, because one above covers as much, go.
void prune(RolloutState& state) {
  auto& layers = state.layers;
  for (std::size_t i = 0; i + 1 < layers.size();) {
    const bool hidden = std::any_of(
        layers.begin() + static_cast<std::ptrdiff_t>(i) + 1, layers.end(),
        [&](const Layer& above) { return above.canaries >= layers[i].canaries && above.others >= layers[i].others; });
    // The bottom covers all nodes, regardless of its marks: only a layer that also covers all hides it.
    if (hidden) {
      layers.erase(layers.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

std::int64_t evictions_in(const std::vector<PoolEvictions>& list, std::string_view pool) {
  const auto found = std::ranges::find(list, pool, &PoolEvictions::pool);
  return found == list.end() ? 0 : std::clamp<std::int64_t>(found->evictions, 0, kEvictionsCountedMax);
}

struct Ordered {
  NodeMark order;
  const RolloutNode* node;
};

// The result of one step: the new state and the events.
class Step {
 public:
  Step(const RolloutState& state, const RolloutObservation& observation, const waterline::RolloutSettings& settings,
       base::WallTime now)
      : state_(state),
        seen_(observation),
        settings_(settings),
        now_{std::chrono::floor<milliseconds>(now.since_epoch)} {}

  RolloutStep run() {
    const RolloutState before = state_;
    if (state_.layers.empty()) {
      everywhere(state_, seen_.source);
      state_.began = now_;
      told(Reason::kRolloutFirst);
    } else {
      for (auto& grant : state_.grants) grant.at = std::min(grant.at, now_);  // of a clock that went back
      std::erase_if(state_.grants, [&](const Grant& grant) { return now_ - grant.at >= kMinute; });
      const bool source_settled = take_request();
      if (state_.hold && state_.hold->until && now_ >= *state_.hold->until) resume();
      if (source_settled && seen_.source != state_.target()) take_source();
      go_on();
    }
    state_.looked = now_;
    plan_.in_force = before.layers != state_.layers;
    RolloutState stored = state_;
    stored.looked = before.looked;
    plan_.store = stored != before;
    if (plan_.waiting == 0) count_waiting();
    return {std::move(state_), std::move(plan_)};
  }

 private:
  void told(Reason reason) { plan_.reasons.push_back(reason); }

  void take_everywhere(std::string revision, Reason why) {
    if (state_.hold && state_.hold->reason == Reason::kRolloutEvictionSpike) state_.hold.reset();
    everywhere(state_, std::move(revision));
    state_.began = now_;
    told(why);
  }

  // False while the ConfigMaps change to the requested revision.
  bool take_request() {
    if (!seen_.request || seen_.request->id == state_.request) return true;
    const RolloutRequest& request = *seen_.request;
    if (request.verb == RolloutRequest::Verb::kTake && request.revision != seen_.source) {
      // A clock apart from ours must not make us wait for ever.
      const base::Duration age = now_ - request.at;
      if (age < kRequestMax && age > -kRequestMax) return false;
    }
    state_.request = request.id;
    switch (request.verb) {
      case RolloutRequest::Verb::kTake:
        if (request.revision == seen_.source && request.at_once) {
          state_.hold.reset();
          take_everywhere(seen_.source, Reason::kRolloutUndone);
        }
        break;
      case RolloutRequest::Verb::kHold:
        state_.hold = Hold{Reason::kRolloutHeld, now_, request.until, "", 0, 0};
        break;
      case RolloutRequest::Verb::kResume:
        resume();
        if (request.at_once && state_.phase != Phase::kSettled) {
          take_everywhere(state_.target(), Reason::kRolloutHurried);
        }
        break;
    }
    return true;
  }

  // Present evictions do not stop it again; more do.
  void resume() {
    if (!state_.hold) return;
    state_.hold.reset();
    if (state_.baselines && seen_.evictions) {
      for (const auto& now_in : *seen_.evictions) {
        auto& list = *state_.baselines;
        auto at = std::ranges::find(list, now_in.pool, &PoolEvictions::pool);
        if (at == list.end()) at = list.insert(list.end(), {now_in.pool, 0});
        at->evictions = std::max(at->evictions, now_in.evictions);
      }
    }
    told(Reason::kRolloutResumed);
  }

  void take_source() {
    const bool held = state_.hold && state_.hold->reason == Reason::kRolloutHeld;
    if (!settings_.staged && !held) return take_everywhere(seen_.source, Reason::kRolloutAtOnce);
    if (seen_.only_stops) return take_everywhere(seen_.source, Reason::kRolloutOff);
    if (seen_.source == state_.layers.front().revision) {
      return take_everywhere(seen_.source, Reason::kRolloutReturned);
    }
    if (!seen_.keepable) return told(Reason::kRolloutTooLarge);
    // Nodes that the old target never reached go with it.
    if (state_.layers.size() > 1 && state_.layers.back().canaries.empty() && state_.layers.back().others.empty()) {
      state_.layers.pop_back();
    }
    if (state_.layers.size() >= kLayersMax) return told(Reason::kRolloutTooMany);
    if (!held) state_.hold.reset();
    state_.layers.push_back({seen_.source, "", ""});
    state_.phase = Phase::kCanary;
    state_.began = now_;
    state_.soaked = base::Duration(0);
    state_.baselines = seen_.evictions;
    told(Reason::kRolloutBegun);
  }

  void go_on() {
    if (state_.phase == Phase::kSettled) return;
    if (state_.hold) return told(state_.hold->reason);
    if (!settings_.staged) return take_everywhere(state_.target(), Reason::kRolloutAtOnce);
    order_nodes();
    if (settings_.evictions.watched) {
      if (!seen_.evictions) return told(Reason::kRolloutBlind);
      if (!state_.baselines) state_.baselines = seen_.evictions;
      if (spike()) return;
    }
    if (state_.phase == Phase::kCanary) grant_canaries();
    if (state_.phase == Phase::kSoak) soak();
    if (state_.phase == Phase::kFleet) grant_others();
    prune(state_);
  }

  void order_nodes() {
    nodes_.reserve(seen_.nodes.size());
    for (const RolloutNode& node : seen_.nodes) nodes_.push_back({order_of(node.name), &node});
    std::ranges::sort(nodes_, {}, &Ordered::order);
  }

  bool on_target(const Ordered& each) const {
    return running(state_, each.order, each.node->canary) == state_.target();
  }

  // Only pools in which some node runs the new settings can suffer from them.
  bool spike() {
    std::set<std::string_view> reached;
    for (const Ordered& each : nodes_) {
      if (covers(state_.layers.back(), each.order, each.node->canary)) reached.insert(each.node->pool);
    }
    const waterline::EvictionLimit& limit = settings_.evictions;
    for (const auto& [pool, evictions] : *seen_.evictions) {
      if (!reached.contains(pool)) continue;
      const std::int64_t allowed =
          std::max(limit.at_least - 1, evictions_in(*state_.baselines, pool) * limit.factor_percent / 100);
      if (evictions <= allowed) continue;
      state_.hold = Hold{Reason::kRolloutEvictionSpike, now_, std::nullopt, pool, evictions, allowed};
      told(Reason::kRolloutEvictionSpike);
      return true;
    }
    return false;
  }

  // The number of nodes that may move now: the share of a minute's limit for the time since the last ones moved. At
  // most two steps count (or the time of one node), so that a pause is not followed by a burst; and never more than the
  // limit within any minute.
  std::int64_t budget() const {
    const std::int64_t a_minute = std::max<std::int64_t>(settings_.nodes_per_minute, 1);
    std::int64_t used = 0;
    for (const Grant& grant : state_.grants) used += grant.nodes;
    const base::Duration one_node = (kMinute + base::Duration(a_minute - 1)) / a_minute;
    const base::Duration counted_max = std::max<base::Duration>(2 * kRolloutStep, one_node);
    // With none in the last minute one may go: it is a minute since.
    const base::Duration since = state_.grants.empty()
                                     ? std::max<base::Duration>(kRolloutStep, one_node)
                                     : std::clamp(now_ - state_.grants.back().at, base::Duration(0), counted_max);
    const std::int64_t share = a_minute * since.count() / base::Duration(kMinute).count();
    return std::clamp<std::int64_t>(share, 0, std::max<std::int64_t>(a_minute - used, 0));
  }

  // Moves `mark` over as many nodes as may move; true when none is left behind it.
  bool move(bool canaries, NodeMark Layer::* mark) {
    std::int64_t left = budget() - moved_in_step_;
    Layer& target = state_.layers.back();
    for (const Ordered& each : nodes_) {
      if (each.node->canary != canaries || each.order <= target.*mark) continue;
      if (!on_target(each)) {
        if (left <= 0) return false;
        --left;
        ++moved_in_step_;
      }
      target.*mark = each.order;
    }
    return true;
  }

  void grant_canaries() {
    const bool all = move(true, &Layer::canaries);
    if (!all) return standing(Reason::kRolloutCanary);
    const bool any = std::ranges::any_of(nodes_, [](const Ordered& each) { return each.node->canary; });
    state_.layers.back().canaries = kAllNodes;
    record_moves();
    state_.phase = any ? Phase::kSoak : Phase::kFleet;
    if (any) fresh_soak_ = true;
  }

  void soak() {
    // The step in which the last canary moved has not soaked yet.
    if (!fresh_soak_) state_.soaked += std::clamp(now_ - state_.looked, base::Duration(0), kSoakStepMax);
    if (state_.soaked < settings_.canary_soak) return standing(Reason::kRolloutSoaking);
    state_.phase = Phase::kFleet;
  }

  void grant_others() {
    if (!move(false, &Layer::others)) return standing(Reason::kRolloutFleet);
    record_moves();
    everywhere(state_, std::string(state_.target()));
    told(Reason::kRolloutDone);
  }

  void standing(Reason reason) {
    record_moves();
    told(reason);
  }

  void record_moves() {
    if (moved_in_step_ == 0) return;
    if (!state_.grants.empty() && state_.grants.back().at == now_) {
      state_.grants.back().nodes += moved_in_step_;
    } else {
      state_.grants.push_back({now_, moved_in_step_});
    }
    plan_.moved += moved_in_step_;
    moved_in_step_ = 0;
  }

  void count_waiting() {
    for (const RolloutNode& node : seen_.nodes) {
      if (in_force(state_, node.name, node.canary) != state_.target()) ++plan_.waiting;
    }
  }

  RolloutState state_;
  const RolloutObservation& seen_;
  const waterline::RolloutSettings& settings_;
  const base::WallTime now_;
  RolloutPlan plan_;
  std::vector<Ordered> nodes_;
  std::int64_t moved_in_step_ = 0;
  bool fresh_soak_ = false;
};

}  // namespace

NodeMark order_of(std::string_view node_name) {
  // Names that differ in their last letters have similar hashes: splitmix64's finalizer spreads them.
  std::uint64_t value = base::TextHash().add(node_name).value();
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  value ^= value >> 31;
  NodeMark mark(16, '0');
  for (std::size_t i = 0; i < mark.size(); ++i) mark[i] = "0123456789abcdef"[(value >> (60 - 4 * i)) & 0xf];
  return mark.append("/").append(node_name);
}

RolloutStep step(const RolloutState& state, const RolloutObservation& observation,
                 const waterline::RolloutSettings& settings, base::WallTime now) {
  return Step(state, observation, settings, now).run();
}

const std::string& in_force(const RolloutState& state, std::string_view node_name, bool canary) {
  if (state.layers.size() == 1) return state.layers.front().revision;
  return running(state, order_of(node_name), canary);
}

}  // namespace tidemark::policy::settings
