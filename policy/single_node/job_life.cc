#include "policy/single_node/job_life.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace tidemark::policy::single_node {
namespace {

constexpr std::int64_t kIndexesMax = 100'000;  // of those read from a status

bool has(std::span<const std::string> sorted, const std::string& uid) {
  return std::ranges::binary_search(sorted, uid);
}

class Step {
 public:
  Step(const JobSpec& spec, const JobState& before, std::span<const JobPod> pods, std::int64_t making,
       const JobTimes& times)
      : spec_(spec), before_(before), pods_(pods), making_(std::max<std::int64_t>(making, 0)), times_(times) {
    out_.state = before;
  }

  JobStep run() {
    if (before_.over) {
      leave_none();
      time_to_live();
      return std::move(out_);
    }
    if (!out_.state.started && !spec_.suspend) out_.state.started = times_.now;
    count();
    decide();
    suspend();
    make_or_remove();
    conclude();
    return std::move(out_);
  }

 private:
  JobState& state() { return out_.state; }
  std::int64_t succeeded() const {
    return out_.state.succeeded + static_cast<std::int64_t>(out_.state.uncounted_succeeded.size());
  }
  std::int64_t failed() const {
    return out_.state.failed + static_cast<std::int64_t>(out_.state.uncounted_failed.size());
  }
  void later(base::Duration left) {
    left = std::max<base::Duration>(left, std::chrono::milliseconds(1));
    if (!out_.again_after || left < *out_.again_after) out_.again_after = left;
  }

  // Once the job is over, no pod counts, no finalizer stays, and no pod that was created too late runs.
  void leave_none() {
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      if (pods_[i].kept) out_.release.push_back(i);
      if (!pods_[i].over() && !pods_[i].deleted && !spec_.deleted) out_.remove.push_back(i);
    }
    move_uncounted();
  }

  static bool fits(const JobRule& rule, const JobPod& pod) {
    if (!rule.conditions.empty()) {
      return std::ranges::any_of(rule.conditions, [&](const std::string& type) {
        return std::ranges::find(pod.conditions, type) != pod.conditions.end();
      });
    }
    return std::ranges::any_of(pod.exits, [&](const JobPod::Exit& exit) {
      if (!rule.container.empty() && rule.container != exit.container) return false;
      const bool in = std::ranges::find(rule.codes, exit.code) != rule.codes.end();
      return exit.code != 0 && in == rule.codes_in;
    });
  }
  JobRule::Action action_for(const JobPod& pod) const {
    for (const JobRule& each : spec_.rules) {
      if (fits(each, pod)) return each.action;
    }
    return JobRule::Action::kCount;
  }

  // A uid whose pod has no finalizer any more is counted permanently.
  void move_uncounted() {
    std::set<std::string_view> kept;
    for (const JobPod& pod : pods_) {
      if (pod.kept) kept.insert(pod.uid);
    }
    const auto move = [&](std::vector<std::string>& uids, std::int64_t& sum) {
      const auto gone = std::erase_if(uids, [&](const std::string& uid) { return !kept.contains(uid); });
      sum += static_cast<std::int64_t>(gone);
    };
    move(state().uncounted_succeeded, state().succeeded);
    move(state().uncounted_failed, state().failed);
  }

  void count() {
    move_uncounted();
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      const JobPod& pod = pods_[i];
      // A deleted pod without a result yet: it may be awaited, if a result will come.
      const bool ended = pod.over() || (pod.deleted && (!waits_for_ends() || !pod.bound));
      if (!pod.kept || !ended) continue;
      out_.release.push_back(i);
      if (has(state().uncounted_succeeded, pod.uid) || has(state().uncounted_failed, pod.uid)) continue;
      if (pod.phase == model::PodPhase::kSucceeded) {
        if (counts_as_success(pod)) insert(state().uncounted_succeeded, pod.uid);
        continue;
      }
      const JobRule::Action action = action_for(pod);
      if (action == JobRule::Action::kIgnore || before_.decided == JobEnd::kComplete) continue;
      insert(state().uncounted_failed, pod.uid);
      const bool fails = action == JobRule::Action::kFailJob && state().decided == JobEnd::kNone;
      if (fails) state().decided = JobEnd::kPolicy;
    }
  }

  static void insert(std::vector<std::string>& sorted, const std::string& uid) {
    sorted.insert(std::ranges::upper_bound(sorted, uid), uid);
  }

  // For an index the first success counts, and no index beyond the wanted ones.
  bool counts_as_success(const JobPod& pod) {
    if (!spec_.indexed) return true;
    if (!pod.index || *pod.index < 0 || *pod.index >= spec_.completions.value_or(0)) return false;
    auto& done = state().completed;
    const auto place = std::ranges::lower_bound(done, *pod.index);
    if (place != done.end() && *place == *pod.index) return false;
    done.insert(place, *pod.index);
    return true;
  }

  // The rules need the result of a pod, or its place becomes free only when it has ended.
  bool waits_for_ends() const { return spec_.replaces_when_ended || !spec_.rules.empty(); }
  static bool leaves(const JobPod& pod) { return pod.deleted || !pod.kept; }
  static bool active(const JobPod& pod) { return !pod.over() && !leaves(pod); }
  bool holds_place(const JobPod& pod) const { return !pod.over() && (!leaves(pod) || waits_for_ends()); }

  void decide() {
    for (const JobPod& pod : pods_) {
      if (active(pod)) {
        ++active_;
        restarts_ += pod.restarts;
        if (pod.ready) ++ready_;
      } else if (!pod.over()) {
        ++terminating_;
      }
      if (holds_place(pod)) ++held_;
    }
    if (state().decided != JobEnd::kNone) return;
    if (spec_.completions ? succeeded() >= *spec_.completions : succeeded() > 0 && active_ + making_ == 0) {
      state().decided = JobEnd::kComplete;
    } else if (failed() > spec_.backoff_limit || restarted_enough()) {
      state().decided = JobEnd::kBackoff;
    } else if (spec_.deadline && state().started && !spec_.suspend) {
      const base::Duration left = *spec_.deadline - times_.since_started;
      if (left <= base::Duration(0)) {
        state().decided = JobEnd::kDeadline;
      } else {
        later(left);
      }
    }
  }

  // Kubernetes' rule: reaching the limit is enough, except for 0, which needs one restart.
  bool restarted_enough() const {
    return spec_.restarts_inside && restarts_ >= std::max<std::int64_t>(spec_.backoff_limit, 1);
  }

  void suspend() {
    if (state().decided != JobEnd::kNone || state().suspended == spec_.suspend) return;
    state().suspended = spec_.suspend;
    state().started = spec_.suspend ? std::nullopt : std::optional(times_.now);
  }

  // After consecutive failures since the last success, the next pod waits.
  base::Duration pause_left() const {
    base::Duration since_success = base::Duration::max(), since_failure = base::Duration::max();
    for (const JobPod& pod : pods_) {
      if (pod.phase == model::PodPhase::kSucceeded && pod.ended_ago) {
        since_success = std::min(since_success, *pod.ended_ago);
      }
    }
    int failures = 0;
    for (const JobPod& pod : pods_) {
      if (pod.phase != model::PodPhase::kFailed || !pod.ended_ago || *pod.ended_ago >= since_success) continue;
      if (pod.deleted) continue;  // deleted by another client, which wants a replacement
      if (action_for(pod) == JobRule::Action::kIgnore) continue;
      ++failures;
      since_failure = std::min(since_failure, *pod.ended_ago);
    }
    if (failures == 0) return base::Duration(0);
    base::Duration pause = kJobPause;
    for (int i = 1; i < failures && pause < kJobPauseMax; ++i) pause *= 2;
    return std::min<base::Duration>(pause, kJobPauseMax) - since_failure;
  }

  void make_or_remove() {
    if (spec_.deleted) return;
    const bool fails = state().decided != JobEnd::kNone && state().decided != JobEnd::kComplete;
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      const JobPod& pod = pods_[i];
      if (pod.over() || pod.deleted) continue;
      if (!pod.kept || fails) {
        out_.remove.push_back(i);
      } else if (state().decided == JobEnd::kComplete || spec_.suspend) {
        out_.let_go.push_back(i);
      }
    }
    if (state().decided != JobEnd::kNone || spec_.suspend) return;
    active_left_ = active_;
    if (spec_.indexed) let_superfluous_go();
    std::int64_t wanted = std::max<std::int64_t>(spec_.parallelism, 0);
    if (spec_.completions) {
      wanted = std::min(wanted, std::max<std::int64_t>(*spec_.completions - succeeded(), 0));
    } else if (succeeded() > 0) {
      wanted = std::min(wanted, active_ + making_);  // running pods continue, and no new one starts
    }
    if (active_left_ > wanted) return let_some_go(active_left_ - wanted);
    std::int64_t missing = std::min(wanted - held_ - making_, kJobPodsARound);
    if (missing <= 0) return;
    if (const base::Duration wait = pause_left(); wait > base::Duration(0)) return later(wait);
    if (!spec_.indexed) {
      out_.create.assign(static_cast<std::size_t>(missing), std::nullopt);
      return;
    }
    // Requested pods that are not seen yet have unknown indexes: wait until they are seen.
    if (making_ > 0) return;
    std::set<std::int64_t> taken(state().completed.begin(), state().completed.end());
    for (const JobPod& pod : pods_) {
      if (holds_place(pod) && pod.index) taken.insert(*pod.index);
    }
    for (std::int64_t i = 0; i < spec_.completions.value_or(0) && missing > 0; ++i) {
      if (taken.contains(i)) continue;
      out_.create.emplace_back(i);
      --missing;
    }
  }

  // For a completed or unwanted index no pod may run; for any other index one.
  void let_superfluous_go() {
    std::set<std::int64_t> seen(state().completed.begin(), state().completed.end());
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      if (!active(pods_[i])) continue;
      const std::int64_t index = pods_[i].index.value_or(-1);
      if (index >= 0 && index < spec_.completions.value_or(0) && seen.insert(index).second) continue;
      out_.let_go.push_back(i);
      --active_left_;
    }
  }

  // Pods that are not ready first, then the highest index, then by name.
  void let_some_go(std::int64_t count) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      if (active(pods_[i]) && std::ranges::find(out_.let_go, i) == out_.let_go.end()) order.push_back(i);
    }
    std::ranges::sort(order, [this](std::size_t a, std::size_t b) {
      const JobPod &x = pods_[a], &y = pods_[b];
      if (x.ready != y.ready) return !x.ready;
      if (x.index != y.index) return x.index.value_or(-1) > y.index.value_or(-1);
      return x.name < y.name;
    });
    order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
    out_.let_go.insert(out_.let_go.end(), order.begin(), order.end());
  }

  void conclude() {
    state().active = active_;
    state().ready = ready_;
    state().terminating = terminating_;
    if (state().decided == JobEnd::kNone) return;
    // The last status of the job: nothing runs any more, and every end is in the sum.
    const bool all_counted = state().uncounted_succeeded.empty() && state().uncounted_failed.empty();
    if (active_ + terminating_ + making_ > 0 || !all_counted) return;
    state().over = true;
    state().ended = times_.now;
    state().active = state().ready = state().terminating = 0;
    time_to_live();
  }

  void time_to_live() {
    if (!spec_.ttl || !state().ended) return;
    const base::Duration left = *spec_.ttl - times_.since_ended;
    if (left > base::Duration(0)) return later(left);
    out_.remove_job = true;
  }

  const JobSpec& spec_;
  const JobState& before_;
  std::span<const JobPod> pods_;
  std::int64_t making_;
  const JobTimes& times_;
  std::int64_t active_ = 0, ready_ = 0, terminating_ = 0, held_ = 0, restarts_ = 0;
  std::int64_t active_left_ = 0;  // after removing the superfluous ones
  JobStep out_;
};

}  // namespace

JobStep job_life(const JobSpec& spec, const JobState& before, std::span<const JobPod> pods, std::int64_t making,
                 const JobTimes& times) {
  return Step(spec, before, pods, making, times).run();
}

std::string index_text(std::span<const std::int64_t> sorted) {
  std::string out;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += base::cat(sorted[i]);
    if (last > i) out += base::cat(last == i + 1 ? "," : "-", sorted[last]);
    i = last + 1;
  }
  return out;
}

std::vector<std::int64_t> parse_indexes(std::string_view text) {
  std::set<std::int64_t> out;
  for (const std::string_view part : base::split(text, ',')) {
    const auto ends = base::split(part, '-');
    const auto first = base::parse_int(ends.front()), last = base::parse_int(ends.back());
    if (!first || !last || *first < 0 || *last < *first || *last - *first > kIndexesMax) continue;
    for (std::int64_t i = *first; i <= *last && static_cast<std::int64_t>(out.size()) < kIndexesMax; ++i) out.insert(i);
  }
  return {out.begin(), out.end()};
}

}  // namespace tidemark::policy::single_node
