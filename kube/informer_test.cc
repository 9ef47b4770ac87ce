#include "kube/informer.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "kube/objects.h"
#include "kube/testing/scripted_api.h"
#include "net/testing/loop.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;

constexpr Resource kThings{"example.io", "v1", "things", "Thing", false};

struct Thing {
  ObjectMeta meta;
  std::string color;
  std::int64_t size = 0;
  std::size_t bytes() const { return 1000 + static_cast<std::size_t>(size); }
};

class InformerTest : public ::testing::Test {
 protected:
  InformerTest() : api(loop) {}

  static InformerConfig config() {
    InformerConfig config;
    config.resource = kThings;
    config.page_size = 2;
    return config;
  }

  void start(InformerConfig settings = config()) {
    informer = std::make_unique<Informer<Thing>>(InformerParts{loop, api, api, log, metrics, base::Random(7)},
                                                 std::move(settings), [this](std::string_view bytes) -> Result<Thing> {
                                                   Thing thing;
                                                   Decoder decoder(bytes, interner);
                                                   decoder.object([&](std::string_view key) {
                                                     if (key == "metadata") {
                                                       read_meta(decoder, {}, thing.meta);
                                                     } else if (key == "spec") {
                                                       decoder.object([&](std::string_view field) {
                                                         if (field == "color") {
                                                           decoder.string(thing.color);
                                                         } else if (field == "size") {
                                                           decoder.integer(thing.size);
                                                         } else {
                                                           decoder.skip();
                                                         }
                                                       });
                                                     } else {
                                                       decoder.skip();
                                                     }
                                                   });
                                                   TM_TRY_VOID(decoder.finish("Thing"));
                                                   return thing;
                                                 });
    if (wanted) informer->hold_only(wanted);
    informer->add_index("color", [](const Thing& thing) { return std::vector<std::string>{thing.color}; });
    informer->subscribe([this](const ObjectKey& key, const Thing* before, const Thing* after) {
      changes.push_back(base::cat(before ? before->color : "-", ">", after ? after->color : "-", " ", key.name));
    });
    scope = std::make_unique<net::Scope>(loop);
    scope->spawn(informer->run());
  }

  void run_for(base::Duration time) { net::testing::run_for(loop, clock, time); }
  void put(const std::string& name, const char* color, int size = 0) {
    api.put(name, Json::object({{"color", color}, {"size", size}}));
  }
  double gauge(std::string_view what) {
    return metrics.gauge(base::cat("tidemark_informer_", what), "", {{"component", kThings.plural}}).value();
  }
  std::uint64_t refused() {
    return metrics.counter("tidemark_informer_refused_total", "", {{"component", kThings.plural}}).value();
  }

  std::map<std::string, std::string> held() const {
    std::map<std::string, std::string> colors;
    informer->for_each([&](const ObjectKey& key, const Thing& thing) { colors[key.name] = thing.color; });
    return colors;
  }
  using Colors = std::map<std::string, std::string>;

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Registry metrics;
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  Interner interner;
  testing::ScriptedApi api;
  std::function<bool(const Thing&)> wanted;
  std::unique_ptr<Informer<Thing>> informer;
  std::unique_ptr<net::Scope> scope;
  std::vector<std::string> changes;
};

TEST_F(InformerTest, ListsInPagesThenWatchesFromTheRevisionOfTheList) {
  for (const char* name : {"a", "b", "c", "d", "e"}) put(name, "red");
  start();
  run_for(1s);
  EXPECT_TRUE(informer->synced());
  EXPECT_EQ(held().size(), 5u);
  EXPECT_EQ(api.watched_from, (std::vector<std::string>{"105"}));

  changes.clear();
  put("a", "blue");
  api.remove_object("b");
  put("f", "green");
  run_for(1s);
  EXPECT_EQ(changes, (std::vector<std::string>{"red>blue a", "red>- b", "->green f"}));
  EXPECT_EQ(api.lists, 1);
}

TEST_F(InformerTest, UnwantedObjectsAreNotHeldAndCostNothing) {
  wanted = [](const Thing& thing) { return thing.color != "grey"; };
  put("a", "red");
  put("b", "grey");
  put("c", "grey");
  start();
  run_for(1s);
  EXPECT_TRUE(informer->synced());
  EXPECT_EQ(held(), (Colors{{"a", "red"}}));
  EXPECT_TRUE(informer->by_index("color", "grey").empty());
  const std::size_t bytes = informer->core().bytes();

  changes.clear();
  put("d", "grey");
  put("b", "blue");  // by now
  put("a", "grey");  // no longer
  api.remove_object("c");
  run_for(1s);
  EXPECT_EQ(changes, (std::vector<std::string>{"->blue b", "red>- a"}));
  EXPECT_EQ(held(), (Colors{{"b", "blue"}}));
  EXPECT_EQ(informer->core().bytes(), bytes);
  EXPECT_EQ(refused(), 0U);

  // The watch goes on from what was passed over, too.
  put("e", "grey");
  run_for(1s);
  api.end_watches();
  run_for(2s);
  EXPECT_EQ(api.watched_from.back(), std::string(informer->core().resource_version()));
  EXPECT_EQ(api.lists, 1);
}

TEST_F(InformerTest, IndexFollowsEveryChange) {
  put("a", "red");
  put("b", "red");
  start();
  run_for(1s);
  EXPECT_EQ(informer->by_index("color", "red").size(), 2u);
  put("a", "blue");
  api.remove_object("b");
  run_for(1s);
  EXPECT_TRUE(informer->by_index("color", "red").empty());
  ASSERT_EQ(informer->by_index("color", "blue").size(), 1u);
  EXPECT_EQ(informer->by_index("color", "blue")[0]->meta.name, "a");
}

TEST_F(InformerTest, ResumesAnEndedWatchWithoutAList) {
  put("a", "red");
  start();
  run_for(2s);
  put("a", "blue");
  run_for(1s);
  api.end_watches();
  run_for(1s);
  EXPECT_EQ(api.lists, 1);
  EXPECT_EQ(api.watched_from, (std::vector<std::string>{"101", "102"}));
}

TEST_F(InformerTest, BookmarkAdvancesTheRevision) {
  put("a", "red");
  start();
  run_for(2s);
  api.bookmark();
  run_for(1s);
  api.end_watches();
  run_for(1s);
  EXPECT_EQ(api.watched_from.back(), "102");
}

TEST_F(InformerTest, CatchesUpAfterABrokenWatch) {
  put("a", "red");
  start();
  run_for(10min);
  put("a", "pink");
  run_for(2s);
  api.down = true;
  api.break_watches(Error{ErrorKind::kUnavailable, "connection reset", 0, 0});
  put("a", "blue");
  put("b", "green");
  run_for(20s);
  EXPECT_EQ(held(), (Colors{{"a", "pink"}})) << "what was synced stays readable while the server is away";
  EXPECT_EQ(informer->core().back_since(), std::nullopt);
  EXPECT_EQ(informer->core().unheard().total, 22s) << "it counts from what was heard last";
  EXPECT_TRUE(informer->core().unheard().lasts);
  api.down = false;
  const base::MonotonicTime back = clock.monotonic();
  run_for(1min);
  ASSERT_TRUE(informer->core().back_since());
  const base::Duration heard = *informer->core().back_since() - back;
  EXPECT_GT(heard, 0s);
  EXPECT_LT(heard, 1min);
  EXPECT_EQ(informer->core().unheard().total, 22s + heard) << "and until the server is back";
  EXPECT_FALSE(informer->core().unheard().lasts);
  EXPECT_EQ(held(), (Colors{{"a", "blue"}, {"b", "green"}}));
  EXPECT_EQ(api.lists, 1);
}

TEST_F(InformerTest, ForbiddenKindDoesNotCountAsSilence) {
  put("a", "red");
  start();
  run_for(2s);
  api.list_error = Error{ErrorKind::kDenied, "forbidden", 403, 0};
  api.break_watches(Error{ErrorKind::kGone, "too old", 410, 0});
  const int lists = api.lists;
  run_for(1min);
  EXPECT_GT(api.lists, lists + 1);
  EXPECT_EQ(informer->core().unheard().total, 0s);
}

TEST_F(InformerTest, ListsAgainAfterAnExpiredRevision) {
  for (const char* name : {"a", "b", "c"}) put(name, "red");
  start();
  run_for(2s);
  api.down = true;
  api.break_watches(Error{ErrorKind::kUnavailable, "connection reset", 0, 0});
  run_for(1s);
  changes.clear();
  api.remove_object("b");
  put("c", "blue");
  api.forget_history();
  api.down = false;
  run_for(2min);
  EXPECT_EQ(held(), (Colors{{"a", "red"}, {"c", "blue"}}));
  EXPECT_EQ(api.lists, 2);
  EXPECT_EQ(changes, (std::vector<std::string>{"red>blue c", "red>- b"}))
      << "an object that did not change is not told again";
}

TEST_F(InformerTest, SlowWatchDoesNotListWithoutPause) {
  put("a", "red");
  start();
  run_for(2s);
  const int before = api.lists;
  for (int i = 0; i < 200; ++i) {
    put("a", i % 2 == 0 ? "blue" : "red");
    api.break_watches(Error{ErrorKind::kGone, "too slow", 410, 0});
    run_for(100ms);
  }
  EXPECT_GT(api.lists, before);
  EXPECT_LT(api.lists - before, 12) << "a list for each of 200 without the waits";
}

TEST_F(InformerTest, UnauthorizedDoesNotMeanThatTheKindIsAbsent) {
  InformerConfig absent_is_fine = config();
  absent_is_fine.may_be_absent = true;
  api.list_error = Error{ErrorKind::kDenied, "Unauthorized", 401, 0};
  start(absent_is_fine);
  run_for(10s);
  EXPECT_FALSE(informer->core().synced());
  api.list_error = Error{ErrorKind::kDenied, "forbidden", 403, 0};
  run_for(1min);
  EXPECT_TRUE(informer->core().synced());
}

TEST_F(InformerTest, RestartedListKeepsNothingOfTheFirstAttempt) {
  for (const char* name : {"a", "b", "c", "d"}) put(name, "red");
  api.restart_lists = 1;
  api.before_second_page = [this] {
    api.before_second_page = nullptr;
    api.remove_object("a");
  };
  start();
  run_for(1s);
  EXPECT_TRUE(informer->synced());
  EXPECT_EQ(held(), (Colors{{"b", "red"}, {"c", "red"}, {"d", "red"}}));
}

TEST_F(InformerTest, RetriesFailedListsWithBackoff) {
  put("a", "red");
  api.down = true;
  start();
  run_for(10min);
  EXPECT_FALSE(informer->synced());
  // Doubling from half a second to half a minute, each give or take a half.
  EXPECT_GE(api.lists, 15);
  EXPECT_LE(api.lists, 60);
  api.down = false;
  run_for(1min);
  EXPECT_TRUE(informer->synced());
}

TEST_F(InformerTest, RetriesOfManyInformersAreSpreadOut) {
  auto first_retry = [&](std::uint64_t seed) {
    base::testing::Clock own_clock;
    net::EventLoop own_loop(own_clock);
    testing::ScriptedApi own_api(own_loop);
    own_api.down = true;
    InformerCore core(
        InformerParts{own_loop, own_api, own_api, log, metrics, base::Random(seed)}, config(),
        [](std::string_view) -> Result<Decoded> { return fail(ErrorKind::kInvalid, "unused"); },
        [](const void*) { return ObjectView(); });
    net::Scope own_scope(own_loop);
    own_scope.spawn(core.run());
    net::testing::run_for(own_loop, own_clock, 2s);
    return own_api.calls.at(1) - own_api.calls.at(0);
  };
  base::Duration least = first_retry(1);
  base::Duration most = least;
  for (std::uint64_t seed = 2; seed < 40; ++seed) {
    const auto wait = first_retry(seed);
    least = std::min(least, wait);
    most = std::max(most, wait);
  }
  EXPECT_GE(least, 250ms);
  EXPECT_LE(most, 755ms);
  EXPECT_GE(most - least, 250ms);
}

TEST_F(InformerTest, BacksOffIfWatchesEndAtOnce) {
  put("a", "red");
  start();
  run_for(1s);
  const std::size_t before = api.watched_from.size();
  for (int second = 0; second < 60; ++second) {
    for (int i = 0; i < 100; ++i) {
      api.end_watches();
      run_for(10ms);
    }
  }
  EXPECT_LE(api.watched_from.size() - before, 150u);
  EXPECT_GE(api.watched_from.size() - before, 2u);
}

TEST_F(InformerTest, ListsAgainAfterAnUnreadableEvent) {
  put("a", "red");
  start();
  run_for(2s);
  api.break_watches(Error{ErrorKind::kInvalid, "watch event: unknown type", 0, 0});
  put("a", "blue");
  run_for(5s);
  EXPECT_EQ(api.lists, 2);
  EXPECT_EQ(held(), (Colors{{"a", "blue"}}));
  api.break_watches(Error{ErrorKind::kExhausted, "too many requests", 429, 0});
  run_for(5s);
  EXPECT_EQ(api.lists, 2) << "a server that is busy is not asked for a list on top";
}

TEST_F(InformerTest, ListsAgainAfterAnEventWithoutRevision) {
  int lists = 1;
  for (const char* object : {R"({"metadata":{"name":"a"},"spec":{"color":"grey"}})", R"({"metadata":])", "{}"}) {
    put("a", "red");
    if (lists == 1) start();
    run_for(1min);
    ASSERT_EQ(api.lists, lists) << object;
    api.garble(object);
    put("a", "blue");
    run_for(1min);
    EXPECT_EQ(api.lists, ++lists) << object;
    EXPECT_EQ(held(), (Colors{{"a", "blue"}})) << object;
  }
}

TEST_F(InformerTest, OverBudgetTakesNoNewObjectsButFollowsHeldOnes) {
  for (const char* name : {"a", "b", "c"}) put(name, "red");
  InformerConfig small = config();
  small.bytes_max = 2900;
  start(small);
  run_for(2s);
  EXPECT_EQ(informer->core().size(), 2u);
  EXPECT_GE(informer->core().bytes(), 2000u);
  EXPECT_LE(informer->core().bytes(), small.bytes_max);
  EXPECT_TRUE(informer->core().over_budget());
  put("a", "blue");
  put("d", "red");
  run_for(1s);
  EXPECT_EQ(held(), (Colors{{"a", "blue"}, {"b", "red"}}));

  api.remove_object("b");
  run_for(1s);
  api.end_watches();  // the server does so every few minutes; then there is a new list
  run_for(1s);
  EXPECT_EQ(held(), (Colors{{"a", "blue"}, {"c", "red"}}));
}

TEST_F(InformerTest, BudgetIncludesIndexKeysAndStoreSlots) {
  start();
  run_for(1s);
  const std::size_t empty = informer->core().bytes();
  constexpr int kCount = 50;
  constexpr std::size_t kKeyBytes = 10'000;
  const auto color = [](int i) { return std::string(kKeyBytes, static_cast<char>('A' + i)); };
  for (int i = 0; i < kCount; ++i) put(base::cat("o", i), color(i).c_str());
  run_for(1s);
  ASSERT_EQ(informer->core().size(), static_cast<std::size_t>(kCount));
  // Each: 1000 bytes as it says itself, a key of its own, and at least a link, a hash and an owner in each of the two.
  EXPECT_GE(informer->core().bytes() - empty, kCount * (1000 + kKeyBytes + 6 * sizeof(void*)));

  for (int i = 0; i < kCount; ++i) put(base::cat("o", i), "red");
  run_for(1s);
  const std::size_t shared = informer->core().bytes();
  EXPECT_LT(shared - empty, kCount * 1500u) << "one key for all now";
  for (int i = 0; i < kCount; ++i) api.remove_object(base::cat("o", i));
  run_for(1s);
  EXPECT_EQ(informer->core().size(), 0u);
  EXPECT_LT(informer->core().bytes(), empty + 2048) << "the tables keep their width, and nothing else is left";

  scope.reset();
  informer.reset();
  for (int i = 0; i < kCount; ++i) put(base::cat("o", i), color(i).c_str());
  InformerConfig small = config();
  small.bytes_max = 100'000;
  start(small);
  run_for(1s);
  EXPECT_TRUE(informer->core().over_budget());
  EXPECT_LE(informer->core().bytes(), small.bytes_max);
}

TEST_F(InformerTest, ObjectThatOutgrowsTheBudgetKeepsItsLastVersion) {
  InformerConfig small = config();
  small.bytes_max = 20'000;
  put("a", "red");
  put("b", "red");
  start(small);
  run_for(2s);
  put("a", "blue", 9'000);
  run_for(1s);
  EXPECT_FALSE(informer->core().over_budget());
  changes.clear();
  put("b", "blue", 9'000);
  run_for(1s);
  EXPECT_EQ(held(), (Colors{{"a", "blue"}, {"b", "red"}}));
  EXPECT_TRUE(changes.empty()) << "no change is reported of what is not held";
  EXPECT_TRUE(informer->core().over_budget());
  EXPECT_EQ(gauge("over_budget"), 1);
  EXPECT_EQ(refused(), 1u);
  EXPECT_LE(informer->core().bytes(), small.bytes_max);
  EXPECT_EQ(informer->core().resource_version(), base::cat(api.revision())) << "the watch goes on";

  put("b", "green");  // as large as what is held
  run_for(1s);
  EXPECT_EQ(held(), (Colors{{"a", "blue"}, {"b", "green"}}));
  put("b", "blue", 9'000);
  run_for(1s);
  api.end_watches();
  run_for(1s);
  EXPECT_EQ(api.lists, 2);
  EXPECT_EQ(held(), (Colors{{"a", "blue"}, {"b", "green"}})) << "a list finds no more room";
  EXPECT_TRUE(informer->core().over_budget());

  api.remove_object("a");
  run_for(1min);
  api.break_watches(Error{ErrorKind::kUnavailable, "connection reset", 0, 0});  // one that never ends properly does too
  run_for(1min);
  EXPECT_EQ(held(), (Colors{{"b", "blue"}}));
  EXPECT_FALSE(informer->core().over_budget());
  EXPECT_EQ(gauge("over_budget"), 0);
}

TEST_F(InformerTest, MissingObjectsStayMissingUntilTheNextListEnds) {
  for (const char* name : {"a", "b", "c", "d", "e"}) put(name, "red");
  InformerConfig small = config();
  small.bytes_max = 6'000;
  start(small);
  run_for(2s);
  ASSERT_TRUE(informer->core().over_budget());
  api.remove_object("a");
  run_for(1s);
  int pages = 0;
  api.before_second_page = [&] {
    ++pages;
    EXPECT_TRUE(informer->core().over_budget());
  };
  api.fail_lists = 1;
  api.end_watches();
  run_for(100ms);
  EXPECT_TRUE(informer->core().over_budget()) << "a list that failed has found nothing out";
  run_for(1min);
  EXPECT_EQ(pages, 1);
  EXPECT_EQ(held().size(), 4u);
  EXPECT_FALSE(informer->core().over_budget());
}

TEST_F(InformerTest, NewObjectsLeaveRoomForHeldOnesToGrow) {
  constexpr int kCount = 100;
  for (int i = 0; i < kCount; ++i) put(base::cat("o", i), "red");
  InformerConfig small = config();
  small.bytes_max = 50'000;
  start(small);
  run_for(1s);
  ASSERT_TRUE(informer->core().over_budget());
  const std::size_t share = small.bytes_max / InformerConfig::kGrowthShare;
  EXPECT_LE(informer->core().bytes(), small.bytes_max - share);
  EXPECT_GT(informer->core().bytes(), small.bytes_max - share - 2'000) << "it is used up to there";
  const std::string name = held().begin()->first;
  put(name, "blue", static_cast<int>(share) - 500);
  run_for(1s);
  EXPECT_EQ(held().at(name), "blue");
  EXPECT_LE(informer->core().bytes(), small.bytes_max);
}

TEST_F(InformerTest, BytesStayWithinTheBudgetAndAddUp) {
  InformerConfig small = config();
  small.bytes_max = 60'000;
  base::Random random(11);
  start(small);
  run_for(1s);
  const std::size_t empty = informer->core().bytes();
  for (int i = 0; i < 2'000; ++i) {
    const std::string name = base::cat("o", random.below(80));
    if (random.below(4) == 0) {
      api.remove_object(name);
    } else {
      const std::string color(1 + random.below(random.below(10) == 0 ? 5'000 : 20), 'c');
      put(name, color.c_str(), static_cast<int>(random.below(3'000)));
    }
    if (random.below(100) == 0) api.end_watches();
    run_for(10ms);
    ASSERT_LE(informer->core().bytes(), small.bytes_max) << i;
  }
  EXPECT_GT(refused(), 0u);
  for (int i = 0; i < 80; ++i) api.remove_object(base::cat("o", i));
  run_for(1s);
  api.end_watches();
  run_for(2s);
  EXPECT_EQ(informer->core().size(), 0u);
  EXPECT_FALSE(informer->core().over_budget());
  EXPECT_LT(informer->core().bytes(), empty + 4'096) << "the tables keep their width, and nothing else is left";
}

TEST_F(InformerTest, MetricsDistinguishTwoInformersOfOneKind) {
  put("a", "red");
  put("b", "red");
  start();
  InformerConfig other = config();
  other.name = "other-things";
  other.bytes_max = 1;
  InformerCore second(
      {loop, api, api, log, metrics, base::Random(3)}, other,
      [](std::string_view) -> Result<Decoded> { return fail(ErrorKind::kInvalid, "unused"); },
      [](const void*) { return ObjectView(); });
  scope->spawn(second.run());
  run_for(2s);
  EXPECT_EQ(gauge("objects"), 2);
  EXPECT_EQ(refused(), 0u);
  EXPECT_EQ(metrics.counter("tidemark_informer_refused_total", "", {{"component", "other-things"}}).value(), 2u);
  scope.reset();  // before the second one goes
}

TEST_F(InformerTest, UnreadableObjectKeepsItsLastGoodVersion) {
  put("a", "red");
  put("b", "red");
  start();
  run_for(1s);
  api.put("a", Json::object({{"color", 5}}));
  put("b", "blue");
  run_for(1s);
  EXPECT_EQ(held(), (Colors{{"a", "red"}, {"b", "blue"}}));
  api.forget_history();
  api.break_watches(Error{ErrorKind::kGone, "too old", 410, 0});
  run_for(1min);
  EXPECT_EQ(held(), (Colors{{"a", "red"}, {"b", "blue"}})) << "also across a new list";
}

TEST_F(InformerTest, DestructionDuringListOrWatchLeaksNothing) {
  for (int i = 0; i < 20; ++i) put(base::cat("thing", i), "red");
  for (int ms = 0; ms < 20; ++ms) {
    start();
    run_for(std::chrono::milliseconds(ms));
    scope.reset();
    EXPECT_EQ(api.watchers(), 0u);
  }
}

}  // namespace
}  // namespace tidemark::kube
