// No interleaving of crashes, lost replies and late requests starts more drivers than the attempts that are allowed, or
// two at the same time.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "policy/route/run.h"

namespace tidemark::policy::route {
namespace {

constexpr int kRuns = 20'000;
constexpr int kStepsMax = 200;

// Both sides of one run, as far as its drivers go.
class World {
 public:
  struct Driver {
    bool deleted = false;
    bool has_node = false;
    bool running = false;
    std::optional<End> end;
  };

  int starts = 0;
  int alive = 0;
  int alive_max = 0;

  // Kubernetes: a pod starts only with its ConfigMap. A fence is an empty one, which keeps the name.
  void create_config(const std::string& name) { configs_.try_emplace(name, true); }
  void fence(const std::string& name) { configs_[name] = false; }
  void create(const std::string& name) { drivers_.try_emplace(name); }
  // The finalizer goes: a deleted pod goes too, and its ConfigMap with it unless that is a fence.
  void let_go(const std::string& name) {
    const auto at = drivers_.find(name);
    if (at == drivers_.end() || !at->second.deleted || !at->second.end) return;
    drivers_.erase(at);
    if (const auto config = configs_.find(name); config != configs_.end() && config->second) configs_.erase(config);
  }
  // A pod without a node never gets one after its deletion.
  void remove(const std::string& name) {
    const auto at = drivers_.find(name);
    if (at == drivers_.end() || at->second.end) return;
    at->second.deleted = true;
    if (!at->second.has_node) at->second.end = End{EndClass::kKilled, std::nullopt, true};
  }
  // YARN: an id runs once, also after its end.
  void submit(const std::string& id) {
    configs_[id] = true;
    drivers_.try_emplace(id);
  }
  Observation seen(const std::string& name) const {
    const auto at = drivers_.find(name);
    if (at == drivers_.end()) return {DriverState::kAbsent};
    if (at->second.end) return {DriverState::kEnded, at->second.end};
    if (at->second.running) return {DriverState::kRunning};
    return {at->second.has_node ? DriverState::kAdmitted : DriverState::kPending};
  }
  bool is_deleted(const std::string& name) const {
    const auto at = drivers_.find(name);
    return at == drivers_.end() || at->second.deleted;
  }
  bool has_node(const std::string& name) const {
    const auto at = drivers_.find(name);
    return at != drivers_.end() && at->second.has_node;
  }
  bool known(const std::string& name) const { return drivers_.contains(name); }

  // Schedulers and kubelets, NodeManagers, and evictions.
  void progress(std::mt19937_64& random) {
    for (auto& [name, driver] : drivers_) {
      if (driver.end || random() % 3 != 0) continue;
      if (!driver.has_node) {
        driver.has_node = true;
      } else if (driver.running) {
        constexpr EndClass kEnds[] = {EndClass::kInfrastructure, EndClass::kUser, EndClass::kSucceeded};
        driver.end = End{driver.deleted ? EndClass::kKilled : kEnds[random() % 3]};
        driver.deleted = driver.deleted || random() % 2 == 0;
        driver.running = false;
        --alive;
      } else if (driver.deleted) {
        driver.end = End{EndClass::kKilled};
      } else if (const auto config = configs_.find(name); config != configs_.end() && config->second) {
        driver.running = true;
        ++starts;
        alive_max = std::max(alive_max, ++alive);
      }
    }
  }

 private:
  std::map<std::string, bool> configs_;  // false: a fence
  std::map<std::string, Driver> drivers_;
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : random_(seed) {
    facts_.rerun_safe = random_() % 2 == 0;
    facts_.other_side_possible = random_() % 4 != 0;
    first_ = random_() % 2 == 0 ? Side::kKubernetes : Side::kYarn;
    cancels_ = random_() % 3 == 0;
    config_.no_more_kubernetes = random_() % 4 == 0;
  }

  void play() {
    for (int step = 0; step < kStepsMax; ++step) {
      now_ = now_ + std::chrono::minutes(random_() % 4);
      const auto dice = random_() % 10;
      if (dice < 3) {
        world_.progress(random_);
      } else if (dice == 3 && !late_.empty()) {
        deliver_late();
      } else if (dice == 4 && cancels_ && random_() % 4 == 0) {
        run_ = on_cancel(run_, now_);  // the order itself is stored before it is answered
      } else {
        // A crash anywhere repeats the effect of the stored state: the same as a step whose event is lost.
        const Run next = act();
        if (random_() % 4 != 0) run_ = next;
      }
      check();
    }
    while (!late_.empty()) deliver_late();
    for (int i = 0; i < 20; ++i) world_.progress(random_);
    check();
  }

 private:
  void check() const {
    // A run that is not safe may have a second attempt, but never a second driver that starts.
    ASSERT_LE(world_.starts, facts_.rerun_safe && facts_.other_side_possible ? 2 : 1);
    ASSERT_LE(world_.alive_max, 1);
    ASSERT_LE(run_.attempts.size(), facts_.other_side_possible ? 2U : 1U);
  }

  const std::string& handle() const { return run_.attempts.back().handle; }
  bool on_kubernetes() const { return run_.attempts.back().side == Side::kKubernetes; }

  enum class Late { kConfig, kPod, kApplication };

  void deliver_late() {
    const auto at = random_() % late_.size();
    const auto [kind, name] = late_[at];
    late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(at));
    if (kind == Late::kConfig) world_.create_config(name);
    if (kind == Late::kPod) world_.create(name);
    if (kind == Late::kApplication) world_.submit(name);
  }

  // What happens between two calls of one effect.
  void meanwhile() {
    if (random_() % 4 == 0) world_.progress(random_);
    if (random_() % 4 == 0 && !late_.empty()) deliver_late();
  }

  // The request has no answer in time, and may arrive later.
  bool is_late(Late kind) {
    if (random_() % 4 != 0) return false;
    late_.emplace_back(kind, handle());
    return true;
  }

  Run submit() {
    if (!on_kubernetes()) {
      if (is_late(Late::kApplication)) return run_;
      world_.submit(handle());
      return on_accepted(run_, now_);
    }
    if (is_late(Late::kConfig)) return run_;
    world_.create_config(handle());
    meanwhile();
    if (is_late(Late::kPod)) return run_;
    if (!world_.known(handle()) && random_() % 8 == 0) {
      return on_refused(run_, EndClass::kAdmission, facts_, config_, now_);
    }
    world_.create(handle());
    return on_accepted(run_, now_);
  }

  Run stop_on_kubernetes() {
    const StopReason reason = run_.attempts.back().stop;
    const bool has_node = world_.has_node(handle());
    const bool deleted = world_.is_deleted(handle());
    if (has_node && !deleted && stops_only_waiting(reason)) return on_stop_too_late(run_, now_);
    meanwhile();
    if (!deleted) {
      if (!has_node && world_.has_node(handle())) return run_;  // the revision is another one
      world_.remove(handle());
    }
    meanwhile();
    world_.fence(handle());
    meanwhile();
    if (!world_.known(handle())) {
      return on_stopped(run_, End{EndClass::kKilled, std::nullopt, reason == StopReason::kRefused}, now_);
    }
    const Observation seen = world_.seen(handle());
    return seen.state == DriverState::kEnded ? on_stopped(run_, seen.end, now_) : run_;
  }

  Run stop_on_yarn() {
    world_.remove(handle());
    const Observation seen = world_.seen(handle());
    if (seen.state == DriverState::kAbsent) {
      return run_.cancel ? on_stopped(run_, std::nullopt, now_) : on_stop_absent(run_, config_, now_);
    }
    return seen.state == DriverState::kEnded ? on_stopped(run_, seen.end, now_) : run_;
  }

  Run act() {
    switch (effect_of(run_)) {
      case Effect::kRoute: {
        const Side side = run_.attempts.empty() ? first_ : other(run_.attempts.back().side);
        return on_routed(run_, {side, RouteReason::kWithinShare}, now_);
      }
      case Effect::kReserve:
        // A lost reply of YARN costs an id; the name of a pod is always the same.
        if (on_kubernetes()) return on_reserved(run_, {"pod"}, now_);
        return on_reserved(run_, {"application-" + std::to_string(++ids_)}, now_);
      case Effect::kSubmit:
        return submit();
      case Effect::kStop:
        return on_kubernetes() ? stop_on_kubernetes() : stop_on_yarn();
      case Effect::kRelease:
        if (on_kubernetes()) {
          if (will_move(run_, facts_) || world_.is_deleted(handle())) world_.fence(handle());
          meanwhile();
          world_.let_go(handle());
        }
        return on_released(run_, facts_, now_);
      case Effect::kNone:
        break;
    }
    if (run_.phase == Phase::kReceived) return queue(run_, now_);
    if (is_final(run_.phase) || run_.attempts.empty()) return run_;
    return on_observed(run_, world_.seen(handle()), facts_, config_, now_);
  }

  std::mt19937_64 random_;
  World world_;
  Run run_;
  RunFacts facts_;
  RunConfig config_;
  Side first_ = Side::kKubernetes;
  bool cancels_ = false;
  int ids_ = 0;
  std::vector<std::pair<Late, std::string>> late_;  // requests on their way
  base::WallTime now_{std::chrono::hours(500'000)};
};

TEST(RouteRunProperty, NeverStartsMoreDriversThanAllowed) {
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    SCOPED_TRACE(seed);
    Simulation(seed).play();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tidemark::policy::route
