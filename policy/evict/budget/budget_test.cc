// Runs testdata/*.txt: lines change the settings, end tasks and advance the time; `look` and `run` print the result.
// Also tests the invariants.
#include "policy/evict/budget/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>

#include "base/text.h"
#include "policy/evict/budget/stored.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::evict {
namespace {

using base::cat;
using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
using testing::duration;
using testing::Words;

const base::WallTime kStart = *base::parse_rfc3339("2026-11-21T20:00:00Z");

class BudgetScenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "pool") {
      pool(words);
    } else if (verb == "evicted" || verb == "finished") {  // evicted POOL COUNT [JOB]
      const std::string name = words.next();
      const auto many = *base::parse_int(words.next());
      const std::string job = words.empty() ? "" : words.next();
      count(book_, {name, "spark", job, verb == "evicted", many}, now_, now_);
    } else if (verb == "preempted") {  // preempted POOL COUNT: YARN work evicted for more timely work
      const std::string name = words.next();
      count_preempted(book_, name, *base::parse_int(words.next()), now_, now_);
    } else if (verb == "resume") {
      requests_.push_back({cat("r", ++asked_), words.next(), "", now_});
    } else if (verb == "restart") {  // only what is stored is left
      state_ = *decode_budgets(encode_budgets(state_));
      book_ = *decode_counts(encode_counts(book_));
    } else if (verb == "clock") {  // clock back 1h
      const bool back = words.next() == "back";
      const auto by = duration(words.next());
      now_ = now_ + (back ? -by : by);
    } else if (verb == "look") {
      answers = look(words.empty() ? base::Duration(0) : duration(words.next()));
    } else if (verb == "run") {  // run 2m: a pass every five seconds; prints changes
      const auto time = duration(words.next());
      for (base::Duration at{0}; at < time; at += kBudgetStep) {
        auto told = look(kBudgetStep);
        if (told.front() != "> nothing") {
          for (auto& each : told) answers.push_back(cat("> ", clock(), each.substr(1)));
        }
      }
      if (answers.empty()) answers = {cat("> ", clock(), " nothing")};
    } else if (verb == "show") {
      answers = show();
    } else {
      throw std::runtime_error(cat("unknown verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  std::string clock() const { return base::format_rfc3339(now_).substr(11, 8); }

  void pool(Words& words) {
    BudgetPool pool;
    pool.name = words.next();
    std::erase_if(pools_, [&](const BudgetPool& each) { return each.name == pool.name; });
    while (!words.empty()) {
      const std::string field = words.next();
      auto& breaker = pool.settings.breaker;
      if (field == "gone") return;
      if (field == "unwatched") breaker.watched = false;
      if (field == "window") breaker.window = duration(words.next());
      if (field == "at-least") breaker.at_least = *base::parse_int(words.next());
      if (field == "rate") breaker.rate_percent = *base::parse_int(words.next());
      if (field == "cool-down") breaker.cool_down = duration(words.next());
      if (field == "job") pool.settings.job_per_hour = *base::parse_int(words.next());
      if (field == "hour") pool.settings.pool_per_hour = *base::parse_int(words.next());
      if (field == "over-reports") pool.over_reports = true;
    }
    pools_.push_back(pool);
  }

  std::vector<std::string> look(base::Duration pause) {
    now_ = now_ + pause;
    forget_old(book_, now_);
    auto done = step(state_, {pools_, book_, requests_}, now_);
    state_ = std::move(done.state);
    std::vector<std::string> told;
    for (const auto& change : done.changes) {
      told.push_back(cat("> ", change.pool, change.job.empty() ? "" : " job ", change.job, ": ", change.seen.evicted,
                         " evicted, ", change.seen.finished, " finished [", model::reason_id(change.reason), "]"));
    }
    if (told.empty()) told.emplace_back("> nothing");
    return told;
  }

  std::vector<std::string> show() const {
    std::vector<std::string> lines;
    for (const auto& pool : state_.pools) {
      std::string line = cat("> ", pool.pool, " ", to_string(pool.breaker.phase));
      if (pool.breaker.phase == BreakerPhase::kOpen)
        line += cat(" for ", base::format_go_duration(pool.breaker.cool_down));
      if (pool.over_report.fallen_back) line += ", over-report given up";
      if (pool.exhausted) line += ", exhausted";
      for (const auto& job : pool.jobs) line += cat(", not ", job);
      lines.push_back(line);
    }
    for (const auto& [name, series] : book_.jobs) {
      const auto job = of_job(series, now_);
      std::int64_t per_hour = 10;
      for (const auto& each : pools_) {
        if (each.name == name.first) per_hour = each.settings.job_per_hour;
      }
      const auto left = allowance(job, per_hour);
      lines.push_back(cat(">   ", name.second, ": ", job.hour, " this hour, ", job.day, " this day, ", left.left,
                          " of ", left.allowed, " left"));
    }
    return lines;
  }

  std::vector<BudgetPool> pools_;
  EvictionBook book_;
  BudgetState state_;
  std::vector<ResumeRequest> requests_;
  int asked_ = 0;
  base::WallTime now_ = kStart;
};

TEST(Budget, IsWhatTheFilesSay) {
  testing::play_scenarios("policy/evict/budget/testdata", 5, [] {
    auto scenario = std::make_shared<BudgetScenario>();
    return [scenario](std::string_view line) { return scenario->run(line); };
  });
}

// ---- invariants ----

TEST(Budget, JobsKeepTheirAllowanceAndUnusedPartsDoNotAddUp) {
  std::mt19937_64 random(7);
  const auto below = [&](std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(random);
  };
  for (int round = 0; round < 50; ++round) {
    EvictionBook book;
    BudgetPool pool{"night", {}, true};
    pool.settings.job_per_hour = 1 + below(20);
    pool.settings.breaker.at_least = 1 + below(30);
    const BudgetPool pools[] = {pool};
    BudgetState state;
    base::WallTime now = kStart;
    std::vector<base::WallTime> evictions;
    for (int i = 0; i < 500; ++i) {
      now = now + seconds(below(900));
      forget_old(book, now);
      const auto done = step(state, {pools, book}, now);
      EXPECT_EQ(done.state, step(state, {pools, book}, now).state) << "deterministic";
      state = done.state;
      ASSERT_EQ(decode_budgets(encode_budgets(state)), state);
      // A caller that asks before each eviction stays within the limit in every hour, whatever was unused before.
      const auto series = book.jobs.find({"night", "j"});
      const auto job = series == book.jobs.end() ? JobEvictions() : of_job(series->second, now);
      const auto allowed = allowance(job, pool.settings.job_per_hour);
      ASSERT_GE(allowed.allowed, 1) << "no job becomes immune forever";
      ASSERT_LE(allowed.allowed, pool.settings.job_per_hour);
      if (allowed.left > 0 && below(3) > 0) {
        count(book, {"night", "spark", "j", true}, now, now);
        evictions.push_back(now);
      }
      const auto within = std::ranges::count_if(evictions, [&](base::WallTime when) { return now - when < hours(1); });
      ASSERT_LE(within, pool.settings.job_per_hour);
      const auto* budget = state.pool("night");
      ASSERT_NE(budget, nullptr);
      ASSERT_LE(budget->breaker.since, now);
      ASSERT_LE(budget->breaker.cool_down, pool.settings.breaker.cool_down * kCoolDownGrowthMax);
    }
  }
}

TEST(Budget, MoreEvictionsReduceTheAllowanceOfAJob) {
  std::int64_t before = 100;
  for (std::int64_t day = 0; day < 500; day += 7) {
    const auto now = allowance({0, day}, 20);
    EXPECT_LE(now.allowed, before);
    before = now.allowed;
  }
  EXPECT_EQ(before, 1);
  EXPECT_EQ(allowance({5, 2}, 3).left, 0) << "more evictions in the hour than in the day";
  EXPECT_EQ(allowance({-4, -9}, 3).left, 3);
}

TEST(Budget, OrderOfPoolsAndEndedTasksDoesNotMatter) {
  EvictionBook one;
  EvictionBook other;
  std::vector<TaskEnd> ends;
  for (int i = 0; i < 60; ++i) ends.push_back({i % 2 == 0 ? "a" : "b", "c", cat("j", i % 7), i % 3 != 0});
  for (const auto& end : ends) count(one, end, kStart, kStart);
  std::ranges::reverse(ends);
  for (const auto& end : ends) count(other, end, kStart, kStart);
  EXPECT_EQ(one, other);
  const BudgetPool forward[] = {{"a", {}, false}, {"b", {}, false}};
  const BudgetPool backward[] = {{"b", {}, false}, {"a", {}, false}};
  const auto x = step({}, {forward, one}, kStart);
  const auto y = step({}, {backward, other}, kStart);
  EXPECT_EQ(x.state, y.state);
  EXPECT_EQ(x.changes, y.changes);
}

TEST(EvictionBook, IsBoundedForAnyNames) {
  EvictionBook book;
  base::WallTime now = kStart;
  for (int i = 0; i < 5000; ++i) {
    now = now + seconds(20);
    count(book, {cat("pool", i % 700), cat("class", i), cat("job", i), true}, now, now);
  }
  EXPECT_LE(book.minutes.size(), kPoolSeriesMax);
  EXPECT_LE(book.classes.size(), kClassSeriesMax + kPoolSeriesMax);
  EXPECT_EQ(book.jobs.size(), kJobSeriesMax);
  EXPECT_EQ(book.left_out, 3000);
  count(book, {"pool0", std::string(100'000, 'c'), std::string(100'000, 'j'), true}, now, now);
  EXPECT_LT(encode_counts(book).size(), kBudgetBytesMax);
  forget_old(book, now + hours(25));
  EXPECT_EQ(book.classes.size() + book.jobs.size() + book.minutes.size(), 0U);
  EXPECT_EQ(book.left_out, 0);
}

TEST(EvictionBook, FullDayOfManyJobsFitsTheStoredObject) {
  EvictionBook book;
  base::WallTime now = kStart;
  for (int slot = 0; slot < 140; ++slot) {
    now = now + minutes(10);
    for (int i = 0; i < 60; ++i) {
      count(
          book,
          {cat("pool", i % 30), cat("class", i % 6), cat("a-job-", std::string(250, 'x'), (slot * 7 + i) % 4000), true},
          now, now);
      count(book, {cat("pool", i % 30), cat("class", i % 8), "the-same-job", true}, now, now);
    }
  }
  const auto text = encode_counts(book);
  EXPECT_LE(text.size(), kCountsBytesMax);
  const auto slots = [](const EvictionBook& of) {
    std::size_t sum = 0;
    for (const auto* series : {&of.classes, &of.jobs}) {
      for (const auto& [name, each] : *series) sum += each.slots.size();
    }
    return sum;
  };
  EXPECT_LT(slots(*decode_counts(text)), slots(book)) << "it was too much to keep whole";
  const auto read = decode_counts(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(of_day(*read, "pool3", now).evicted, of_day(book, "pool3", now).evicted) << "sums stay";
  const auto job = read->jobs.find({"pool3", "the-same-job"});
  ASSERT_NE(job, read->jobs.end()) << "what is evicted most is kept";
  EXPECT_EQ(of_job(job->second, now).hour, of_job(book.jobs.at({"pool3", "the-same-job"}), now).hour);
}

TEST(EvictionBook, CountsTasksAtTheirEndTime) {
  EvictionBook book;
  count(book, {"night", "spark", "j", true}, kStart + -minutes(5), kStart);
  count(book, {"night", "spark", "j", true}, kStart + -minutes(90), kStart);
  count(book, {"night", "etl", "", false}, kStart + -hours(23), kStart);
  count(book, {"night", "spark", "j", true}, kStart + -hours(30), kStart);  // too long ago
  count(book, {"night", "spark", "j", true}, kStart + hours(3), kStart);    // a wrong clock: counts now
  count(book, {"", "spark", "j", true}, kStart, kStart);                    // its node is in no pool
  EXPECT_EQ(lately(book, "night", minutes(10), {}, kStart), (Ended{2, 0}));
  EXPECT_EQ(lately(book, "night", minutes(2), {}, kStart), (Ended{1, 0}));
  EXPECT_EQ(lately(book, "night", minutes(10), kStart + -minutes(1), kStart), (Ended{1, 0}));
  EXPECT_EQ(of_day(book, "night", kStart), (Ended{3, 1}));
  EXPECT_EQ(of_day(book, "night", "spark", kStart), (Ended{3, 0}));
  EXPECT_EQ(of_day(book, "night", "etl", kStart), (Ended{0, 1}));
  EXPECT_EQ(of_day(book, "nigh", kStart), Ended());
  EXPECT_EQ(of_job(book.jobs.at({"night", "j"}), kStart).hour, 2);
  EXPECT_EQ(of_job(book.jobs.at({"night", "j"}), kStart).day, 3);
}

TEST(EvictionBook, PreemptedContainersCountInTheHourAndNotInTheRate) {
  EvictionBook book;
  count(book, {"night", "spark", "j", true}, kStart, kStart);
  count_preempted(book, "night", 3, kStart + -minutes(59), kStart);
  count_preempted(book, "night", 5, kStart + -minutes(61), kStart);  // too long ago
  count_preempted(book, "night", -5, kStart, kStart);
  count_preempted(book, "day", 2, kStart + hours(3), kStart);  // a wrong clock: counts now
  EXPECT_EQ(used_of_hour(book, "night", kStart), 4);
  EXPECT_EQ(preempted_lately(book, "day", kStart), 2);
  EXPECT_EQ(lately(book, "night", hours(1), {}, kStart), (Ended{1, 0}));
  EXPECT_EQ(of_day(book, "night", kStart), (Ended{1, 0}));
  const auto again = decode_counts(encode_counts(book));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->preempted, book.preempted);
  forget_old(book, kStart + hours(2));
  EXPECT_TRUE(book.preempted.empty());
}

TEST(StoredBudgets, OperatorGrantsRoundTrip) {
  const model::EvictionGrant now{30, kStart + hours(24)}, before{50, kStart + hours(3)};
  const OperatorGrants grants{{"day", {now, std::nullopt}}, {"night", {now, before}}};
  EXPECT_EQ(*decode_grants(encode_grants(grants)), grants);
  EXPECT_EQ(*decode_grants(encode_grants({})), OperatorGrants());
  EXPECT_EQ(decode_grants(R"({"schema":2,"pools":[]})").error().kind, ErrorKind::kUnsupported);
  EXPECT_FALSE(decode_grants(R"({"schema":1,"pools":[{"name":"day"}]})").has_value());
  EXPECT_FALSE(
      decode_grants(R"({"schema":1,"pools":[{"yarnOperator":{"perHour":1,"until":"2026-11-21T20:00:00Z"}}]})"));
}

TEST(StoredBudgets, FinerTimeIsRoundedAsWritten) {
  const auto book = decode_counts(R"({"schema":1,"until":"2026-11-21T20:00:00.4386723867Z","slotSeconds":600})");
  ASSERT_TRUE(book);
  EXPECT_EQ(decode_counts(encode_counts(*book)).value(), *book);
}

TEST(StoredBudgets, RefusesUnreadableText) {
  EXPECT_FALSE(decode_budgets("").has_value());
  EXPECT_FALSE(decode_budgets("[]").has_value());
  EXPECT_EQ(decode_budgets(R"({"schema":2})").error().kind, ErrorKind::kUnsupported);
  EXPECT_FALSE(decode_budgets(R"({"schema":1})").has_value()) << "no time";
  constexpr std::string_view kHead = R"({"schema":1,"at":"2026-11-21T20:00:00Z","pools":[)";
  EXPECT_TRUE(decode_budgets(cat(kHead, "]}")).has_value());
  EXPECT_FALSE(decode_budgets(cat(kHead, R"({"name":"a","breaker":{"phase":"ajar"}}]})")).has_value());
  EXPECT_FALSE(decode_budgets(cat(kHead, R"({"name":"a","breaker":{"phase":"open"}}]})")).has_value()) << "no since";
  constexpr std::string_view kClosed = R"({"name":"a","breaker":{"phase":"closed"}})";
  EXPECT_FALSE(decode_budgets(cat(kHead, kClosed, ",", kClosed, "]}")).has_value()) << "twice";
  EXPECT_FALSE(decode_counts(R"({"schema":1,"until":"2026-11-21T20:00:00Z","slotSeconds":60})").has_value());
  EXPECT_FALSE(
      decode_resume(R"({"schema":1,"id":"x","verb":"open","pool":"a","at":"2026-11-21T20:00:00Z"})").has_value());
  const ResumeRequest request{"x", "night", "a test", kStart};
  EXPECT_EQ(*decode_resume(encode_resume(request)), request);
}

}  // namespace
}  // namespace tidemark::policy::evict
