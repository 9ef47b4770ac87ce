#include "policy/state/state.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <stdexcept>

#include "base/text.h"
#include "model/generation.h"
#include "policy/state/desired.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::state {
namespace {

using base::cat;
using testing::Words;

constexpr base::WallTime kStart{std::chrono::hours(24 * 365 * 56)};

// One node of a cluster: what people order, what the manager makes of it when it looks, what agents read with the
// manager dead.
class Scenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "order") {
      answers.push_back(order(words));
    } else if (verb == "after") {
      now_ = now_ + testing::duration(words.next());
    } else if (verb == "clock-back") {
      now_ = now_ + -testing::duration(words.next());
    } else if (verb == "sold") {
      sold(words);
    } else if (verb == "pool") {
      pool_ = words.next();
    } else if (verb == "pool-gone") {
      pool_exists_ = false;
      pool_ = model::kDefaultPool;
    } else if (verb == "mode") {
      mode_ = words.next() == "observe" ? model::Mode::kObserve : model::Mode::kEnforce;
    } else if (verb == "label") {  // by hand
      const std::string word = words.next();
      label_ = word == "-" ? std::nullopt : std::optional(word);
    } else if (verb == "detail") {
      const std::string word = words.next();
      detail_ = word == "-" ? std::nullopt : std::optional(word);
    } else if (verb == "joins") {  // the node is made anew: nothing of it is left
      label_ = detail_ = std::nullopt;
    } else if (verb == "lost") {  // the ConfigMap
      desired_ = DesiredStates();
      recover(desired_, read().marks);
    } else if (verb == "look") {
      answers = look();
    } else if (verb == "agents") {
      answers.push_back("> " + told(read(), model::Mode::kEnforce));
    } else {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  NodeReading read() const {
    return read_marks(label_ ? std::optional<std::string_view>(*label_) : std::nullopt,
                      detail_ ? std::optional<std::string_view>(*detail_) : std::nullopt);
  }

  void write(NodeMarks marks) {
    const auto before = detail_ ? parse_marks(*detail_) : Result<MarkText>(MarkText());
    if (before) EXPECT_GT(model::next_generation(marks.generation, now_), before->marks.generation);
    marks.generation = model::next_generation(marks.generation, now_);
    label_ = to_string(label_of(marks, now_));
    detail_ = format_marks(marks, label_of(marks, now_));
  }

  std::string order(Words& words) {
    const std::string scope = words.next();
    StateCommand command;
    const std::string wish = words.next();
    command.wish = wish == "off" ? Wish::kOff : wish == "observe" ? Wish::kObserve : Wish::kOn;
    command.by = "ann";
    std::vector<std::string> parts;
    while (!words.empty()) {
      const std::string word = words.next();
      const auto at = word.find('=');
      const std::string key = word.substr(0, at);
      const std::string value = word.substr(at + 1);
      if (key == "only") {
        parts.push_back(value);
      } else if (key == "drain") {
        command.drain = testing::duration(value);
      } else if (key == "for") {
        command.lasts = testing::duration(value);
      } else if (key == "by") {
        command.by = value;
      } else {
        throw std::runtime_error(cat("no such setting: ", key));
      }
    }
    command.only = *parse_parts(parts);
    auto marks = read().marks;
    constexpr std::array kEffects{"set", "already", "not off", "cannot be said", "superseded"};
    if (scope == "node") {
      const std::int64_t before = marks.node ? marks.node->generation : 0;
      auto done = command_node(marks, command, model::next_generation(std::max(before, marks.generation), now_), now_);
      if (done.effect == CommandEffect::kSet) write(done.marks);
      return cat("> ", kEffects.at(static_cast<std::size_t>(done.effect)));
    }
    const std::string pool = scope == "cluster" ? "" : scope;
    auto done = command_desired(desired_, pool, command, now_);
    EXPECT_TRUE(done);
    desired_ = done->desired;
    const bool concerns = pool.empty() || pool == pool_;
    if (done->effect == CommandEffect::kSet && concerns && !manager_alone_) {
      if (pool.empty()) {
        carry_cluster(marks, done->mark);
      } else {
        carry_pool(marks, pool, done->mark);
      }
      write(marks);
    }
    return cat("> ", kEffects.at(static_cast<std::size_t>(done->effect)));
  }

  void sold(Words& words) {
    sold_ = {false, false};
    while (!words.empty()) {
      const std::string side = words.next();
      if (side == "k8s") sold_.k8s = true;
      if (side == "yarn") sold_.yarn = true;
      if (side == "unknown") sold_ = {};
    }
  }

  std::string told(const NodeReading& reading, model::Mode mode) const {
    const auto state = effective(reading.marks, mode, now_);
    std::string line(to_string(state.strictest()));
    if (state.k8s != state.yarn) line += cat(" (k8s ", to_string(state.k8s), ", yarn ", to_string(state.yarn), ")");
    for (const auto& name : state.classes_off) line += cat(" -", name);
    line += cat("  [", model::reason_id(state.decided_by), "]");
    if (state.order && !state.order->by.empty()) line += cat(" by ", state.order->by);
    if (state.again_after) line += cat(", changes in ", base::format_go_duration(*state.again_after));
    if (reading.trouble) line += cat(", trouble [", model::reason_id(*reading.trouble), "]");
    return line;
  }

  std::vector<std::string> look() {
    auto reading = read();
    Inherited inherited;
    inherited.cluster = desired_.cluster;
    inherited.pool = pool_;
    if (const auto* mark = desired_.pool(pool_)) inherited.of_pool = *mark;
    inherited.marked_pool_exists = pool_exists_;
    const auto advanced = advance(reading.marks, inherited, sold_, now_);
    EXPECT_TRUE(advance(advanced.marks, inherited, sold_, now_).reasons.empty());
    std::string happened;
    for (const auto reason : advanced.reasons) happened += cat(" ", model::reason_id(reason));
    if (!advanced.reasons.empty()) {
      write(advanced.marks);
      reading = read();
    }
    std::vector<std::string> answers{"> " + told(reading, mode_)};
    if (!happened.empty()) answers.push_back(cat("> happened:", happened, "; label ", label_.value_or("-")));
    return answers;
  }

  std::optional<std::string> label_;
  std::optional<std::string> detail_;
  DesiredStates desired_;
  std::string pool_{model::kDefaultPool};
  bool pool_exists_ = true;
  bool manager_alone_ = false;
  model::Mode mode_ = model::Mode::kEnforce;
  SoldNow sold_{true, true};
  base::WallTime now_ = kStart;
};

TEST(State, MatchesTheScenarioFiles) {
  testing::play_scenarios("policy/state/testdata", 6, [] {
    return [scenario = std::make_shared<Scenario>()](std::string_view line) { return scenario->run(line); };
  });
}

// ---- properties ----

StateCommand any_command(std::mt19937_64& random) {
  StateCommand command;
  command.wish = static_cast<Wish>(random() % 3);
  command.by = random() % 2 == 0 ? "ann" : "bob";
  command.why = "because";
  if (command.wish != Wish::kObserve && random() % 3 == 0) {
    command.only.k8s = random() % 2 == 0;
    command.only.yarn = !command.only.k8s && random() % 2 == 0;
    if (random() % 3 == 0) command.only.classes = {"spark"};
  }
  command.drain = std::chrono::minutes(random() % 3 * 10);
  command.evict = random() % 3 == 0;
  command.grace = std::chrono::seconds(random() % 90);
  if (random() % 2 == 0) command.lasts = std::chrono::minutes(random() % 120);
  return command;
}

base::WallTime jump(std::mt19937_64& random, base::WallTime now) {
  switch (random() % 8) {
    case 0:
      return now + -std::chrono::hours(random() % 48);
    case 1:
      return now + std::chrono::hours(random() % 24);
    default:
      return now + std::chrono::minutes(random() % 40);
  }
}

// Every text that a life can leave is read back as it was; generations only grow; what stands on a node never has more
// orders than there may be, and all but the last have an end.
TEST(StateProperty, ALifeOfCommandsAndClockJumps) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 random(seed);
    base::WallTime now = kStart;
    NodeMarks marks;
    DesiredStates desired;
    for (int i = 0; i < 120; ++i) {
      now = jump(random, now);
      const auto before = marks;
      const auto command = any_command(random);
      if (random() % 2 == 0) {
        marks = command_node(marks, command, model::next_generation(marks.generation, now), now).marks;
      } else {
        const std::string pool = random() % 2 == 0 ? "" : "night";
        const auto done = command_desired(desired, pool, command, now);
        ASSERT_TRUE(done);
        ASSERT_GE(done->desired.generation, desired.generation);
        desired = done->desired;
        ASSERT_EQ(*parse_desired(format_desired(desired)), desired);
      }
      Inherited inherited{desired.cluster, "night", std::nullopt, random() % 2 == 0};
      if (const auto* mark = desired.pool("night")) inherited.of_pool = *mark;
      SoldNow sold;
      if (random() % 3 == 0) sold = {random() % 2 == 0, random() % 2 == 0};
      marks = advance(marks, inherited, sold, now).marks;
      marks.generation = model::next_generation(marks.generation, now);
      ASSERT_GT(marks.generation, before.generation) << "seed " << seed;
      if (before.cluster) ASSERT_GE(marks.cluster->generation, before.cluster->generation);
      if (before.node) ASSERT_GE(marks.node->generation, before.node->generation);
      const auto label = label_of(marks, now);
      const auto text = format_marks(marks, label);
      ASSERT_LE(text.size(), kStateDetailBytesMax);
      const auto read = read_marks(to_string(label), text);
      ASSERT_FALSE(read.trouble) << "seed " << seed << " " << text << " " << read.problem;
      ASSERT_EQ(read.marks, marks) << "seed " << seed << " " << text;
      for (const auto* mark : {marks.cluster ? &*marks.cluster : nullptr, marks.node ? &*marks.node : nullptr}) {
        if (mark == nullptr) continue;
        ASSERT_LE(mark->orders.size(), kOrdersMax);
        for (std::size_t k = 0; k + 1 < mark->orders.size(); ++k) ASSERT_TRUE(mark->orders[k].until);
      }
    }
  }
}

// What ended stays ended, whatever the clock does afterwards.
TEST(StateProperty, AnOrderThatEndedNeverComesBack) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    StateCommand off;
    off.wish = Wish::kOff;
    off.lasts = std::chrono::minutes(30);
    base::WallTime now = kStart;
    NodeMarks marks = command_node({}, off, model::next_generation(0, now), now).marks;
    bool ended = false;
    for (int i = 0; i < 50; ++i) {
      now = jump(random, now);
      marks = advance(marks, {}, {}, now).marks;
      if (ended) ASSERT_EQ(label_of(marks, now), model::NodeState::kOn) << "seed " << seed;
      ended = ended || label_of(marks, now) == model::NodeState::kOn;
    }
  }
}

// `off` never makes anything less strict, on either side, now or at any later time.
TEST(StateProperty, OffNeverLoosens) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    std::mt19937_64 random(seed);
    base::WallTime now = kStart;
    NodeMarks marks;
    for (std::uint64_t i = 0; i < random() % 5; ++i) {
      now = now + std::chrono::minutes(random() % 30);
      marks = command_node(marks, any_command(random),
                           model::next_generation(marks.node ? marks.node->generation : 0, now), now)
                  .marks;
    }
    auto off = any_command(random);
    off.wish = Wish::kOff;
    const auto after =
        command_node(marks, off, model::next_generation(marks.node ? marks.node->generation : 0, now), now).marks;
    // A part that is added drains anew, and draining is less than off: so the two count as one here.
    const auto kept = [](model::NodeState state) { return std::min(state, model::NodeState::kDraining); };
    for (int minutes = 0; minutes < 300; minutes += 7) {
      const auto then = now + std::chrono::minutes(minutes);
      if (off.lasts && then >= now + *off.lasts) break;
      const auto was = effective(marks, model::Mode::kEnforce, then);
      const auto is = effective(after, model::Mode::kEnforce, then);
      ASSERT_GE(kept(is.k8s), kept(was.k8s)) << "seed " << seed << " after " << minutes << " min";
      ASSERT_GE(kept(is.yarn), kept(was.yarn)) << "seed " << seed << " after " << minutes << " min";
    }
  }
}

// Of two operators at once the same one wins in every order of their writes, and the other hears of it.
TEST(StateProperty, TheOrderOfWritesDoesNotMatter) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    const auto first = *command_desired({}, "", any_command(random), kStart);
    const auto second = command_desired(first.desired, "", any_command(random), kStart);
    ASSERT_TRUE(second);
    if (second->effect != CommandEffect::kSet || first.effect != CommandEffect::kSet) continue;
    NodeMarks one;
    NodeMarks other;
    carry_cluster(one, first.mark);
    EXPECT_EQ(carry_cluster(one, second->mark), CommandEffect::kSet);
    carry_cluster(other, second->mark);
    EXPECT_EQ(carry_cluster(other, first.mark), CommandEffect::kSuperseded);
    EXPECT_EQ(one, other);
  }
}

// What is wrong with a mark is written into the next one, cut to what fits: that must be readable in its turn.
TEST(Mark, WritingOverGarbageYieldsAReadableMark) {
  std::string word;
  for (int i = 0; i < 60; ++i) word += "\xC3\xA4";
  for (std::size_t shift = 0; shift < 4; ++shift) {
    const std::string order = base::cat(R"({"wish":")", std::string(shift, 'x'), word, R"(","since":")", word,
                                        R"(","until":")", word, R"("})");
    const std::string text = base::cat(R"({"schema":1,"generation":1,"state":"on","node":{"generation":1,"orders":[)",
                                       order, ",", order, ",", order, "]}}");
    const auto read = read_marks("on", text);
    ASSERT_EQ(read.trouble, model::Reason::kStateUnreadable);
    ASSERT_GT(read.problem.size(), kWhyBytesMax);
    ASSERT_TRUE(read.marks.node);
    EXPECT_GE(read.marks.node->orders[0].why.size(), kWhyBytesMax - 1);
    const auto again = read_marks("draining", format_marks(read.marks, model::NodeState::kDraining));
    EXPECT_EQ(again.trouble, std::nullopt) << again.problem;
    EXPECT_EQ(again.marks, read.marks);
  }
}

TEST(Mark, GarbageSellsNothingAndKillsNothing) {
  const std::string good = format_marks({}, model::NodeState::kOn);
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string("null"), std::string(R"({"schema":0})"),
        std::string(R"({"schema":1,"generation":-1,"state":"on"})"), std::string(R"({"schema":1,"state":"maybe"})"),
        std::string(R"({"schema":1,"generation":1,"state":"on","colour":"red"})"),
        std::string(R"({"schema":1,"generation":1,"state":"on","node":{"orders":[{"wish":"stop"}]}})"),
        std::string(R"({"schema":1,"generation":1,"state":"on","node":{"orders":[{"wish":"on"},{"wish":"on"}]}})"),
        std::string(
            R"({"schema":1,"generation":1,"state":"on","node":{"orders":[{"wish":"off","since":"yesterday"}]}})"),
        std::string(R"({"schema":1,"generation":1,"state":"on","pool":{"orders":[]}})"),
        std::string(kStateDetailBytesMax + 1, ' ')}) {
    for (const char* label : {"on", "observe"}) {
      const auto read = read_marks(label, text);
      EXPECT_EQ(read.trouble, model::Reason::kStateUnreadable) << text;
      EXPECT_FALSE(read.problem.empty());
      EXPECT_EQ(label_of(read.marks, kStart), model::NodeState::kDraining) << text;
    }
    EXPECT_EQ(label_of(read_marks("off", text).marks, kStart), model::NodeState::kOff) << text;
  }
  EXPECT_EQ(label_of(read_marks("onn", std::nullopt).marks, kStart), model::NodeState::kDraining);
  EXPECT_EQ(label_of(read_marks("onn", good).marks, kStart), model::NodeState::kDraining);
}

TEST(Mark, AProblemNamesItsPlace) {
  const auto read = parse_marks(
      R"({"schema":1,"generation":1,"state":"on","cluster":{"generation":1,"orders":[{"wish":"of","by":"a"}]}})");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("cluster.orders[0].wish"), std::string::npos) << read.error().message;
}

TEST(Mark, ANewerSchemaIsHeldByItsLabel) {
  const auto read = read_marks("observe", R"({"schema":2,"something":"else"})");
  EXPECT_EQ(read.trouble, model::Reason::kStateNewer);
  EXPECT_EQ(label_of(read.marks, kStart), model::NodeState::kObserve);
  EXPECT_EQ(label_of(read_marks(std::nullopt, R"({"schema":2})").marks, kStart), model::NodeState::kDraining);
}

TEST(Desired, RejectsTooManyPools) {
  EXPECT_FALSE(parse_desired("{"));
  EXPECT_FALSE(parse_desired(R"({"generation":1})"));
  EXPECT_EQ(parse_desired(R"({"schema":2})").error().kind, ErrorKind::kUnsupported);
  EXPECT_FALSE(parse_desired(R"({"schema":1,"pools":[{"name":"a","orders":[]},{"name":"a","orders":[]}]})"));
  DesiredStates desired;
  StateCommand command;
  for (std::size_t i = 0; i < kDesiredPoolsMax; ++i) {
    desired = command_desired(desired, cat("pool-", i), command, kStart)->desired;
  }
  EXPECT_EQ(*parse_desired(format_desired(desired)), desired);
  const auto refused = command_desired(desired, "one-more", command, kStart);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kExhausted);
}

TEST(Desired, TheLastGoodOneHolds) {
  StateCommand off;
  off.wish = Wish::kOff;
  const auto first = command_desired({}, "", off, kStart)->desired;
  const auto second = command_desired(first, "night", off, kStart)->desired;
  const auto read = next_desired({}, format_desired(second));
  EXPECT_EQ(read.reason, model::Reason::kStateDesiredRead);
  EXPECT_EQ(next_desired(read.state, "{").reason, model::Reason::kStateDesiredUnreadable);
  EXPECT_EQ(next_desired(read.state, "{").state.desired, second);
  EXPECT_EQ(next_desired(read.state, std::nullopt).reason, model::Reason::kStateDesiredLost);
  EXPECT_EQ(next_desired(read.state, std::nullopt).state.desired, second);
  EXPECT_EQ(next_desired(read.state, format_desired(first)).reason, model::Reason::kStateDesiredOld);
  EXPECT_EQ(next_desired(read.state, format_desired(first)).state.desired, second);
  EXPECT_EQ(next_desired({}, std::nullopt).reason, model::Reason::kStateDesiredNone);
  EXPECT_FALSE(next_desired({}, "{").state.desired);
}

}  // namespace
}  // namespace tidemark::policy::state
