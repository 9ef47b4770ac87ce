#include "policy/single_node/local_queue.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace tidemark::policy::single_node {
namespace {

using Amounts = std::map<std::string, std::int64_t, std::less<>>;

std::int64_t plus(std::int64_t a, std::int64_t b) {  // neither is negative
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

void add(Amounts& sums, const std::vector<QueueAmount>& amounts) {
  for (const QueueAmount& each : amounts) {
    std::int64_t& sum = sums[each.resource];
    sum = plus(sum, std::max<std::int64_t>(each.amount, 0));
  }
}

std::int64_t of(const Amounts& amounts, std::string_view resource) {
  const auto at = amounts.find(resource);
  return at == amounts.end() ? 0 : at->second;
}

Amounts wanted_by(const QueuePod& pod) {
  Amounts wanted;
  add(wanted, pod.requests);
  wanted[std::string(kPodsResource)] = 1;
  std::erase_if(wanted, [](const auto& each) { return each.second == 0; });
  return wanted;
}

auto age(const QueuePod& pod) {
  return std::tie(pod.created, pod.ns, pod.name, pod.uid);
}

// The time until no later pod passes it; 0 if that is so now.
base::Duration passed_for(const QueueWaiting& waiting) {
  return kPassedMax - std::clamp(waiting.waited, base::Duration(0), kPassedMax);
}

// Whatever their order is by the clock, which may have been set.
auto comes_after(const QueueWaiting& waiting) {
  return std::make_tuple(passed_for(waiting) > base::Duration(0), age(*waiting.pod));
}

bool before(const QueueWaiting& a, const QueueWaiting& b) {
  return std::make_tuple(a.pod->kind, b.pod->priority, comes_after(a)) <
         std::make_tuple(b.pod->kind, a.pod->priority, comes_after(b));
}

bool tolerates(const QueueToleration& toleration, const QueueTaint& taint) {
  if (toleration.effect && *toleration.effect != taint.effect) return false;
  if (toleration.key.empty()) return toleration.exists;
  return toleration.key == taint.key && (toleration.exists || toleration.value == taint.value);
}

const QueueTaint* kept_away_by(const QueuePod& pod, const QueueNode& node) {
  for (const QueueTaint& taint : node.taints) {
    if (std::ranges::none_of(pod.tolerations, [&](const QueueToleration& each) { return tolerates(each, taint); })) {
      return &taint;
    }
  }
  return nullptr;
}

// "" if the node matches what the pod requests.
std::string mismatch(const QueuePod& pod, const QueueNode& node) {
  for (const model::Label& each : pod.node_selector) {
    if (std::ranges::find(node.labels, each) == node.labels.end()) return base::cat(each.key, "=", each.value);
  }
  if (pod.affinity.empty()) return "";
  const auto find = [&](std::string_view key) -> std::optional<std::string_view> {
    if (key == "metadata.name") return node.name;  // affinity may use this field too
    const auto at = std::ranges::find(node.labels, key, &model::Label::key);
    return at == node.labels.end() ? std::nullopt : std::optional<std::string_view>(at->value);
  };
  const bool any = std::ranges::any_of(pod.affinity, [&](const auto& term) { return term.matches_where(find); });
  return any ? "" : "its node affinity";
}

class Pass {
 public:
  explicit Pass(const LocalQueueInputs& inputs) : in_(inputs) {
    if (in_.node != nullptr) add(all_, in_.node->allocatable);
    for (const QueuePod* pod : in_.bound) add(taken_, with_itself(*pod));
    if (in_.since_eviction) {
      cool_down_ = kEvictionPause - std::clamp(*in_.since_eviction, base::Duration(0), kEvictionPause);
    }
  }

  LocalQueuePlan run() {
    out_.outcomes.resize(in_.waiting.size());
    out_.order.resize(in_.waiting.size());
    std::iota(out_.order.begin(), out_.order.end(), std::size_t{0});
    std::ranges::sort(out_.order, [&](std::size_t a, std::size_t b) { return before(in_.waiting[a], in_.waiting[b]); });
    for (const std::size_t i : out_.order) {
      later(passed_for(in_.waiting[i]));
      out_.outcomes[i] = look_at(in_.waiting[i]);
      if (!out_.outcomes[i]) add(taken_, with_itself(*in_.waiting[i].pod));
    }
    number();
    return std::move(out_);
  }

 private:
  static std::vector<QueueAmount> with_itself(const QueuePod& pod) {
    std::vector<QueueAmount> out = pod.requests;
    std::erase_if(out, [](const QueueAmount& each) { return each.resource == kPodsResource; });
    out.push_back({std::string(kPodsResource), 1});
    return out;
  }

  std::int64_t free_of(std::string_view resource) const {
    return std::max<std::int64_t>(of(all_, resource) - of(taken_, resource), 0);  // neither is negative
  }

  void later(base::Duration left) {
    if (left > base::Duration(0) && (!out_.again_after || left < *out_.again_after)) out_.again_after = left;
  }

  static QueueWait wait(QueueReason reason, std::string key = "") {
    QueueWait out;
    out.reason = reason;
    out.key = std::move(key);
    return out;
  }

  QueueOutcome look_at(const QueueWaiting& waiting) {
    const QueuePod& pod = *waiting.pod;
    if (pod.gated) return wait(QueueReason::kGated);
    if (in_.node == nullptr) return wait(QueueReason::kNoNode);
    if (std::string other = mismatch(pod, *in_.node); !other.empty()) {
      return wait(QueueReason::kMismatch, std::move(other));
    }
    if (in_.node->cordoned) return wait(QueueReason::kCordoned);
    if (const QueueTaint* taint = kept_away_by(pod, *in_.node)) return wait(QueueReason::kTainted, taint->key);
    if (!in_.node->ready) return wait(QueueReason::kNotReady);
    if (in_.off && pod.kind == WorkKind::kOffline) return wait(QueueReason::kOff);
    if (!in_.all_known) return wait(QueueReason::kNotAllKnown);
    return by_room(waiting);
  }

  QueueOutcome by_room(const QueueWaiting& waiting) {
    const QueuePod& pod = *waiting.pod;
    const Amounts wanted = wanted_by(pod);
    QueueWait too_large = wait(QueueReason::kTooLarge);
    QueueWait lacks = wait(QueueReason::kShort);
    for (const auto& [resource, amount] : wanted) {
      const QueueShort found{resource, amount, free_of(resource), of(all_, resource)};
      if (amount > found.sold) too_large.shorts.push_back(found);
      if (amount > found.free) lacks.shorts.push_back(found);
    }
    if (!too_large.shorts.empty()) return too_large;
    if (!lacks.shorts.empty()) {
      if (passed_for(waiting) == base::Duration(0)) not_passed_.emplace_back(&waiting, lacks.shorts);
      return lacks;
    }
    for (const auto& [older, shorts] : not_passed_) {
      if (comes_after(*older) < comes_after(waiting) &&
          std::ranges::any_of(shorts, [&](const QueueShort& each) { return wanted.contains(each.resource); })) {
        QueueWait behind = wait(QueueReason::kBehind, base::cat(older->pod->ns, "/", older->pod->name));
        behind.shorts = shorts;
        return behind;
      }
    }
    if (pod.kind == WorkKind::kOffline && cool_down_ > base::Duration(0)) {
      QueueWait cooling = wait(QueueReason::kCoolingDown);
      cooling.left = cool_down_;
      later(cool_down_);
      return cooling;
    }
    return std::nullopt;
  }

  void number() {
    std::array<std::size_t, 2> waiting{};
    const auto count = [&](std::size_t i) -> std::size_t& {
      return waiting[static_cast<std::size_t>(in_.waiting[i].pod->kind)];
    };
    for (const std::size_t i : out_.order) {
      if (!out_.outcomes[i]) continue;
      out_.outcomes[i]->kind = in_.waiting[i].pod->kind;
      out_.outcomes[i]->position = ++count(i);
    }
    for (const std::size_t i : out_.order) {
      if (out_.outcomes[i]) out_.outcomes[i]->of = count(i);
    }
  }

  const LocalQueueInputs& in_;
  LocalQueuePlan out_;
  Amounts all_, taken_;
  std::vector<std::pair<const QueueWaiting*, std::vector<QueueShort>>> not_passed_;
  base::Duration cool_down_{0};
};

}  // namespace

LocalQueuePlan local_queue(const LocalQueueInputs& inputs) {
  return Pass(inputs).run();
}

}  // namespace tidemark::policy::single_node
