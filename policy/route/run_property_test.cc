// No interleaving of crashes, lost replies and late requests starts more drivers than the attempts that are allowed, or
// two at the same time.

#include <gtest/gtest.h>

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
    bool running = false;
    std::optional<End> end;
  };

  int starts = 0;
  int alive = 0;
  int alive_max = 0;

  // Kubernetes: a pod starts only with its ConfigMap.
  void create_config(const std::string& name) { configs_[name] = true; }
  void delete_config(const std::string& name) { configs_.erase(name); }
  void create(const std::string& name) {
    if (!created_.contains(name)) drivers_.try_emplace(name);
  }
  // YARN: an id runs once, also after its end.
  void submit(const std::string& id) {
    create_config(id);
    if (created_.insert({id, true}).second) drivers_.try_emplace(id);
  }
  void erase(const std::string& name) {
    const auto at = drivers_.find(name);
    if (at == drivers_.end() || at->second.running) return;
    drivers_.erase(at);
    delete_config(name);  // its owner is gone
  }
  void remove(const std::string& name) {
    const auto at = drivers_.find(name);
    if (at == drivers_.end() || at->second.end) return;
    at->second.deleted = true;
    if (!at->second.running) at->second.end = End{EndClass::kKilled};
  }
  Observation seen(const std::string& name) const {
    const auto at = drivers_.find(name);
    if (at == drivers_.end()) return {DriverState::kAbsent};
    if (at->second.end) return {DriverState::kEnded, at->second.end};
    return {at->second.running ? DriverState::kRunning : DriverState::kPending};
  }
  bool known(const std::string& name) const { return drivers_.contains(name); }

  // Schedulers and kubelets, NodeManagers, and evictions.
  void progress(std::mt19937_64& random) {
    for (auto& [name, driver] : drivers_) {
      if (driver.end || random() % 3 != 0) continue;
      if (!driver.running) {
        if (driver.deleted || !configs_.contains(name)) continue;
        driver.running = true;
        ++starts;
        alive_max = std::max(alive_max, ++alive);
        continue;
      }
      constexpr EndClass kEnds[] = {EndClass::kInfrastructure, EndClass::kUser, EndClass::kSucceeded};
      driver.end = End{driver.deleted ? EndClass::kKilled : kEnds[random() % 3]};
      driver.running = false;
      --alive;
    }
  }

 private:
  std::map<std::string, bool> configs_;
  std::map<std::string, bool> created_;  // ids that YARN has seen
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
    const int allowed = facts_.rerun_safe && facts_.other_side_possible ? 2 : 1;
    ASSERT_LE(world_.starts, allowed);
    ASSERT_LE(world_.alive_max, 1);
    ASSERT_LE(run_.attempts.size(), static_cast<std::size_t>(allowed));
  }

  const std::string& handle() const { return run_.attempts.back().handle; }
  bool on_kubernetes() const { return run_.attempts.back().side == Side::kKubernetes; }

  void deliver_late() {
    const auto at = random_() % late_.size();
    const auto [yarn, name] = late_[at];
    late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(at));
    if (yarn) {
      world_.submit(name);
    } else {
      world_.create(name);
    }
  }

  Run submit() {
    const bool late = random_() % 4 == 0;
    if (on_kubernetes()) world_.create_config(handle());
    if (late) {
      late_.emplace_back(!on_kubernetes(), handle());
      return run_;  // no answer in time
    }
    if (on_kubernetes()) {
      if (!world_.known(handle()) && random_() % 8 == 0) return on_refused(run_, EndClass::kAdmission, facts_, now_);
      world_.create(handle());
    } else {
      world_.submit(handle());
    }
    return on_accepted(run_, now_);
  }

  Run act() {
    switch (effect_of(run_)) {
      case Effect::kRoute: {
        const Side side = run_.attempts.empty() ? first_ : other(run_.attempts.back().side);
        return on_routed(run_, {side, RouteReason::kWithinShare}, now_);
      }
      case Effect::kReserve:
        // A lost reply of YARN costs an id; the name of a pod is always the same.
        if (on_kubernetes()) return on_reserved(run_, "pod", now_);
        return on_reserved(run_, "application-" + std::to_string(++ids_), now_);
      case Effect::kSubmit:
        return submit();
      case Effect::kStop: {
        if (on_kubernetes()) world_.delete_config(handle());
        world_.remove(handle());
        const Observation seen = world_.seen(handle());
        if (seen.state == DriverState::kAbsent) {
          const bool gone = on_kubernetes() || run_.cancel;
          return gone ? on_stopped(run_, std::nullopt, now_) : run_;
        }
        return seen.state == DriverState::kEnded ? on_stopped(run_, seen.end, now_) : run_;
      }
      case Effect::kRelease:
        if (will_move(run_, facts_) && on_kubernetes()) world_.delete_config(handle());
        if (on_kubernetes()) world_.erase(handle());
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
  std::vector<std::pair<bool, std::string>> late_;  // requests on their way: to YARN or not, and the name
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
