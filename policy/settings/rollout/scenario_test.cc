// Runs testdata/*.txt: lines set nodes, settings, evictions and requests, or let time pass; `step` and `run` ask.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policy/settings/rollout/rollout.h"
#include "policy/settings/rollout/stored.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::settings {
namespace {

using base::cat;
using testing::duration;
using testing::Words;

class RolloutScenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "settings") {
      settings(words);
    } else if (verb == "nodes") {
      nodes(words);
    } else if (verb == "edit") {
      source_ = words.next();
      keepable_ = only_stops_ = false;
      keepable_ = true;
      while (!words.empty()) {
        const std::string word = words.next();
        if (word == "off") only_stops_ = true;
        if (word == "too-large") keepable_ = false;
      }
    } else if (verb == "evictions") {
      evictions(words);
    } else if (verb == "ask") {
      ask(words);
    } else if (verb == "restart") {
      // What is stored is all that is left.
      auto read = decode_state(encode_state(state_));
      if (!read) throw std::runtime_error(read.error().message);
      state_ = std::move(*read);
    } else if (verb == "clock") {  // clock back 1h: it was wrong, or is now
      const bool back = words.next() == "back";
      const auto by = duration(words.next());
      now_ = now_ + (back ? -by : by);
    } else if (verb == "step") {
      answers = step_after(words.empty() ? base::Duration(0) : duration(words.next()));
    } else if (verb == "run") {  // run 2m: a step every five seconds; tells each change of what happens
      answers = run_for(duration(words.next()));
    } else {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  void settings(Words& words) {
    while (!words.empty()) {
      const std::string field = words.next();
      if (field == "at-once") settings_.staged = false;
      if (field == "staged") settings_.staged = true;
      if (field == "unwatched") settings_.evictions.watched = false;
      if (field == "nodes-a-minute") settings_.nodes_per_minute = *base::parse_int(words.next());
      if (field == "soak") settings_.canary_soak = duration(words.next());
      if (field == "at-least") settings_.evictions.at_least = *base::parse_int(words.next());
      if (field == "factor") settings_.evictions.factor_percent = *base::parse_int(words.next());
    }
  }

  void nodes(Words& words) {  // nodes POOL COUNT [canary]
    const std::string pool = words.next();
    const auto count = *base::parse_int(words.next());
    const bool canary = !words.empty() && words.next() == "canary";
    std::erase_if(fleet_, [&](const Node& node) { return node.pool == pool; });
    for (std::int64_t i = 0; i < count; ++i) fleet_.push_back({cat(pool, "-", i), pool, canary});
  }

  void evictions(Words& words) {
    const std::string pool = words.next();
    if (pool == "unknown") {
      evictions_.reset();
      return;
    }
    if (!evictions_) evictions_.emplace();
    std::erase_if(*evictions_, [&](const PoolEvictions& each) { return each.pool == pool; });
    evictions_->push_back({pool, *base::parse_int(words.next())});
  }

  void ask(Words& words) {
    RolloutRequest request;
    request.id = cat("request-", ++asked_);
    request.at = now_;
    const std::string verb = words.next();
    if (verb == "take") {
      request.verb = RolloutRequest::Verb::kTake;
      request.revision = words.next();
    } else if (verb == "resume") {
      request.verb = RolloutRequest::Verb::kResume;
    } else if (!words.empty()) {
      request.until = now_ + duration(words.next());
    }
    if (!words.empty()) request.at_once = words.next() == "at-once";
    request_ = request;
  }

  std::vector<std::string> step_after(base::Duration pause) {
    now_ = now_ + pause;
    std::vector<RolloutNode> nodes;
    for (const Node& node : fleet_) nodes.push_back({node.name, node.canary, node.pool});
    RolloutObservation seen;
    seen.source = source_;
    seen.only_stops = only_stops_;
    seen.keepable = keepable_;
    seen.nodes = nodes;
    seen.evictions = evictions_;
    seen.request = request_;
    auto result = step(state_, seen, settings_, now_);
    state_ = std::move(result.state);

    std::string line = ">";
    for (const auto reason : result.plan.reasons) line += cat(" [", model::reason_id(reason), "]");
    if (result.plan.reasons.empty()) line += " nothing";
    const std::string happened = line;
    if (result.plan.moved > 0) line += cat(" moved ", result.plan.moved);
    std::map<std::string, std::map<std::string, std::int64_t>> pools;
    for (const Node& node : fleet_) ++pools[node.pool][in_force(state_, node.name, node.canary)];
    for (const auto& [pool, revisions] : pools) {
      line += cat(" | ", pool);
      for (const auto& [revision, count] : revisions) line += cat(" ", revision, ":", count);
    }
    if (state_.hold && state_.hold->reason == model::Reason::kRolloutEvictionSpike) {
      line += cat(" | ", state_.hold->evictions, " evictions in ", state_.hold->pool, ", ", state_.hold->allowed,
                  " allowed");
    }
    happened_ = happened;
    return {line};
  }

  std::vector<std::string> run_for(base::Duration time) {
    std::vector<std::string> told;
    std::string before;
    std::string last;
    for (base::Duration at{0}; at < time; at += kRolloutStep) {
      last = step_after(kRolloutStep).front();
      if (happened_ != before) told.push_back(cat("> +", base::format_go_duration(at + kRolloutStep), last.substr(1)));
      before = happened_;
    }
    const std::string end = cat("> +", base::format_go_duration(time), last.substr(1));
    if (told.empty() || told.back() != end) told.push_back(end);
    return told;
  }

  struct Node {
    std::string name;
    std::string pool;
    bool canary;
  };
  waterline::RolloutSettings settings_;
  std::vector<Node> fleet_;
  std::string source_;
  bool only_stops_ = false;
  bool keepable_ = true;
  std::optional<std::vector<PoolEvictions>> evictions_ = std::vector<PoolEvictions>();
  std::optional<RolloutRequest> request_;
  int asked_ = 0;
  std::string happened_;
  RolloutState state_;
  base::WallTime now_{std::chrono::hours(24 * 365 * 50)};
};

TEST(Rollout, MatchesTheScenarioFiles) {
  testing::play_scenarios("policy/settings/rollout/testdata", 6, [] {
    return [scenario = std::make_shared<RolloutScenario>()](std::string_view line) { return scenario->run(line); };
  });
}

}  // namespace
}  // namespace tidemark::policy::settings
