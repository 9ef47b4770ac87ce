#include "policy/single_node/pod_life.h"

#include <algorithm>

namespace tidemark::policy::single_node {
namespace {

using model::PodPhase;
using What = LifeAct::What;

class PodStep {
 public:
  PodStep(const PodLifeInputs& inputs, base::MonotonicTime now) : in_(inputs), now_(now) {}

  PodLifeStep run() {
    out_.containers.resize(in_.containers.size());
    for (std::size_t i = 0; i < in_.containers.size(); ++i) show(i);
    in_.ends ? end() : go_on();
    conclude();
    return std::move(out_);
  }

 private:
  const ContainerRun& run_of(std::size_t i) const { return in_.runs[i]; }
  const LifeContainer& at(std::size_t i) const { return in_.containers[i]; }
  bool runs(std::size_t i) const { return run_of(i).state == RunState::kRunning; }
  bool succeeded(std::size_t i) const {
    return run_of(i).state == RunState::kEnded && run_of(i).exit_code == 0 && run_of(i).cannot_begin.empty();
  }
  bool has_started(std::size_t i) const { return runs(i) && (!at(i).has_startup_probe || run_of(i).startup_passed); }

  void later(base::Duration left) {
    if (!out_.again_after || left < *out_.again_after) out_.again_after = left;
  }

  // True if an ended container restarts, by its role and the pod's policy.
  bool returns(std::size_t i) const {
    if (at(i).role == LifeRole::kSidecar) return true;
    if (at(i).role == LifeRole::kInit) return !succeeded(i) && in_.policy != RestartPolicy::kNever;
    if (in_.policy == RestartPolicy::kAlways) return true;
    return in_.policy == RestartPolicy::kOnFailure && !succeeded(i);
  }

  void show(std::size_t i) {
    ContainerShown& shown = out_.containers[i];
    shown.state = run_of(i).state;
    shown.started = has_started(i);
    shown.ready = shown.started && (!at(i).has_readiness_probe || run_of(i).readiness_passed);
    if (at(i).role == LifeRole::kInit) shown.ready = succeeded(i);
  }

  void begin_when_due(std::size_t i) {
    const ContainerRun& run = run_of(i);
    if (run.state == RunState::kRunning) return look_after(i);
    if (run.state == RunState::kEnded) {
      const base::Duration pause = restart_pause(run.quick_ends);
      const base::Duration passed = now_ - run.ended;
      if (passed < pause) {
        out_.containers[i].waits_for = run.cannot_begin.empty() ? "CrashLoopBackOff" : "RunContainerError";
        return later(pause - passed);
      }
    }
    if (run.not_made && now_ - *run.not_made < kMakePause) {
      out_.containers[i].waits_for = "CreateContainerError";
      return later(kMakePause - (now_ - *run.not_made));
    }
    out_.acts.push_back({What::kBegin, i});
  }

  // A running, unhealthy container is stopped as at the end of its pod, but alone.
  void look_after(std::size_t i) {
    if (run_of(i).unwell) ask_or_kill(i);
  }

  void ask_or_kill(std::size_t i) {
    if (!runs(i)) return;
    const auto& asked = run_of(i).asked_to_end;
    if (!asked) {
      out_.acts.push_back({What::kAsk, i});
      return later(in_.grace);
    }
    const base::Duration passed = now_ - *asked;
    if (passed >= in_.grace) {
      out_.acts.push_back({What::kKill, i});
      return later(std::chrono::seconds(1));
    }
    later(in_.grace - passed);
  }

  void go_on() {
    bool may_begin = true;  // all before it are as far as they have to be
    for (std::size_t i = 0; i < in_.containers.size(); ++i) {
      if (at(i).role == LifeRole::kMain) continue;
      if (!may_begin) {
        out_.containers[i].waits_for = "PodInitializing";
        continue;
      }
      if (at(i).role == LifeRole::kSidecar) {
        begin_when_due(i);
        may_begin = has_started(i) || main_began();
        continue;
      }
      if (succeeded(i)) continue;
      may_begin = main_began();  // an init container is not begun again once the others have been
      if (may_begin) continue;
      if (run_of(i).state == RunState::kEnded && !returns(i)) failed_init_ = true;
      if (!failed_init_) begin_when_due(i);
    }
    out_.initialized = may_begin;
    for (std::size_t i = 0; i < in_.containers.size(); ++i) {
      if (at(i).role != LifeRole::kMain) continue;
      if (!may_begin) {
        out_.containers[i].waits_for = "PodInitializing";
      } else if (run_of(i).state != RunState::kEnded || returns(i)) {
        begin_when_due(i);
      }
    }
    if (!main_will_run() || failed_init_) end_sidecars();
  }

  bool main_began() const {
    for (std::size_t i = 0; i < in_.containers.size(); ++i) {
      if (at(i).role == LifeRole::kMain && run_of(i).state != RunState::kNone) return true;
    }
    return false;
  }
  bool main_will_run() const {
    for (std::size_t i = 0; i < in_.containers.size(); ++i) {
      if (at(i).role != LifeRole::kMain) continue;
      if (run_of(i).state != RunState::kEnded || (!in_.ends && returns(i))) return true;
    }
    return false;
  }

  void end() {
    bool main_runs = false;
    for (std::size_t i = 0; i < in_.containers.size(); ++i) {
      if (at(i).role == LifeRole::kSidecar) continue;
      main_runs = main_runs || runs(i);
      ask_or_kill(i);
    }
    if (!main_runs) end_sidecars();
  }

  // The last one first: it may need those before it.
  void end_sidecars() {
    std::erase_if(out_.acts, [this](const LifeAct& act) { return at(act.container).role == LifeRole::kSidecar; });
    for (std::size_t i = in_.containers.size(); i-- > 0;) {
      if (at(i).role != LifeRole::kSidecar || !runs(i)) continue;
      return ask_or_kill(i);
    }
  }

  void conclude() {
    bool any_began = false, any_runs = false, all_succeeded = true, main_ready = true;
    for (std::size_t i = 0; i < in_.containers.size(); ++i) {
      any_began = any_began || run_of(i).state != RunState::kNone;
      any_runs = any_runs || runs(i);
      if (at(i).role == LifeRole::kMain) all_succeeded = all_succeeded && succeeded(i);
      if (at(i).role != LifeRole::kInit) main_ready = main_ready && out_.containers[i].ready;
    }
    out_.initialized = out_.initialized || main_began();
    const bool none_will = failed_init_ || !main_will_run();
    out_.over = !any_runs && (in_.ends || none_will);
    if (out_.over) {
      const bool fails = failed_init_ || !in_.why_ends.empty() || !all_succeeded;
      out_.phase = fails ? PodPhase::kFailed : PodPhase::kSucceeded;
      out_.again_after.reset();
      return;
    }
    out_.phase = main_began() ? PodPhase::kRunning : PodPhase::kPending;
    out_.ready = !in_.ends && out_.phase == PodPhase::kRunning && main_ready;
  }

  const PodLifeInputs& in_;
  base::MonotonicTime now_;
  PodLifeStep out_;
  bool failed_init_ = false;
};

}  // namespace

base::Duration restart_pause(std::int32_t quick_ends) {
  if (quick_ends <= 0) return base::Duration(0);
  base::Duration pause = kRestartPause;
  for (std::int32_t i = 1; i < quick_ends && pause < kRestartPauseMax; ++i) pause *= 2;
  return std::min<base::Duration>(pause, kRestartPauseMax);
}

PodLifeStep pod_life(const PodLifeInputs& inputs, base::MonotonicTime now) {
  return PodStep(inputs, now).run();
}

}  // namespace tidemark::policy::single_node
