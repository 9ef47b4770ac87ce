// The client and the informer with a faulty API server, under the simulated clock: in the end the cache equals the
// server, requests are no more frequent than the backoffs allow, and a write happens at most once.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/testing/clock.h"
#include "kube/informer.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "kube/objects.h"
#include "net/testing/loop.h"
#include "tests/faults/fault_transport.h"

namespace tidemark::tests {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeeds = 240;
constexpr int kChanges = 500;  // per seed, half a second apart
// Room for few changes, so that a client that is away for some seconds gets 410, also between two pages of a list.
constexpr std::size_t kHistoryBytes = 8 * 1024;
constexpr base::Duration kWriteLimit = 10s;
// The longest recovery after the last fault: a silent watch is noticed after two minutes, the drawn wait (30 s × 1.5)
// expires, a list with a slow answer ends after its two minutes, and once more.
constexpr base::Duration kRecoveryLimit = 10min;

std::string config_map(std::string_view name, std::uint64_t value) {
  return base::cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")", name,
                   R"(","namespace":"default"},"data":{"v":")", value, R"("}})");
}

class FaultsTest : public ::testing::Test {
 protected:
  FaultsTest() { start(kHistoryBytes); }

  void start(std::size_t history_bytes) {
    end_informer();
    kube::memory::ServerConfig config;
    config.store.history_bytes_max = history_bytes;
    config.bookmark_interval = 10s;
    auto opened = kube::memory::Server::open(loop_, log_, config, nullptr);
    TM_CHECK(opened.has_value(), "a server without a file opens");
    clean_client_.reset();
    client_.reset();
    faults_.reset();
    transport_.reset();
    server_ = std::move(*opened);
    transport_ = std::make_unique<kube::memory::LocalTransport>(loop_, server_->handler(), "test");
    clean_client_ = std::make_unique<kube::Client>(
        loop_, *transport_, nullptr,
        kube::ClientConfig{.queries_per_second = 1e6, .burst = 1000, .user_agent = "writer"}, base::Random(7));
  }

  void put_faults(std::uint64_t seed) {
    base::Random random(seed);
    faults_ = std::make_unique<FaultTransport>(loop_, *transport_, random.fork());
    client_ = std::make_unique<kube::Client>(loop_, *faults_, nullptr, kube::ClientConfig{}, random.fork());
  }

  void start_informer(std::uint64_t seed) {
    kube::InformerConfig config;
    config.resource = kube::kConfigMaps;
    config.ns = "default";
    config.page_size = 7;
    interner_ = std::make_unique<kube::Interner>();
    metrics_ = std::make_unique<base::Registry>();
    informer_ = std::make_unique<kube::Informer<kube::ConfigMap>>(
        kube::InformerParts{loop_, *client_, *client_, log_, *metrics_, base::Random(seed)}, config,
        [this](std::string_view bytes) { return kube::decode_config_map(bytes, {}, {"*"}, *interner_); });
    told_.clear();
    informer_->subscribe(
        [this](const kube::ObjectKey& key, const kube::ConfigMap* before, const kube::ConfigMap* after) {
          EXPECT_EQ(before != nullptr, told_.contains(key.name)) << "a listener gets a change of an unknown object";
          if (after == nullptr) {
            told_.erase(key.name);
          } else {
            told_[key.name] = after->meta.resource_version + "=" + std::string(after->data.get("v"));
          }
        });
    scope_ = std::make_unique<net::Scope>(loop_);
    scope_->spawn(informer_->run());
  }
  void end_informer() {
    scope_.reset();
    informer_.reset();
  }
  void TearDown() override { end_informer(); }

  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(loop_, clock_, std::move(task));
  }

  using Contents = std::map<std::string, std::string>;

  Contents on_server() {
    Contents all;
    kube::Interner interner;
    kube::ListOptions options;
    options.ns = "default";
    const auto listed = run(clean_client_->list(
        kube::kConfigMaps, options,
        [&](std::string_view page) -> Result<void> {
          TM_TRY(const auto meta, kube::decode_list(page, [&](std::string_view item) -> Result<void> {
                   TM_TRY(const auto map, kube::decode_config_map(item, {}, {"*"}, interner));
                   all[std::string(map.meta.name)] = map.meta.resource_version + "=" + std::string(map.data.get("v"));
                   return {};
                 }));
          return {};
        },
        nullptr, 30s));
    EXPECT_TRUE(listed) << listed.error().message;
    return all;
  }
  Contents in_cache() const {
    Contents all;
    informer_->for_each([&](const kube::ObjectKey& key, const kube::ConfigMap& map) {
      all[key.name] = map.meta.resource_version + "=" + std::string(map.data.get("v"));
    });
    return all;
  }

  // Creates, changes and deletes a few dozen objects without faults: the server's contents must not depend on luck.
  void change_something(base::Random& random) {
    const std::string name = base::cat("m-", random.below(40));
    const std::uint64_t value = random.below(1'000'000);
    kube::WriteOptions options;
    options.ns = "default";
    switch (random.below(4)) {
      case 0:
        (void)run(clean_client_->create(kube::kConfigMaps, config_map(name, value), options, "", kWriteLimit));
        break;
      case 1:
        (void)run(clean_client_->remove(kube::kConfigMaps, name, "", options, kWriteLimit));
        break;
      default:
        (void)run(clean_client_->patch(kube::kConfigMaps, name, kube::PatchType::kMerge,
                                       base::cat(R"({"data":{"v":")", value, R"("}})"), options, kWriteLimit));
    }
  }

  std::size_t asked_within(base::MonotonicTime from, base::Duration time) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        faults_->asked, [&](const Asked& asked) { return asked.at >= from && asked.at < from + time; }));
  }

  base::testing::Clock clock_;
  net::EventLoop loop_{clock_};
  base::Log log_{clock_, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::unique_ptr<kube::memory::Server> server_;
  std::unique_ptr<kube::memory::LocalTransport> transport_;
  std::unique_ptr<FaultTransport> faults_;
  std::unique_ptr<kube::Client> clean_client_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Interner> interner_;
  std::unique_ptr<base::Registry> metrics_;
  std::unique_ptr<kube::Informer<kube::ConfigMap>> informer_;
  std::unique_ptr<net::Scope> scope_;
  Contents told_;
};

FaultRates drawn_rates(base::Random& random) {
  // From a server with many faults to one with few.
  const std::uint64_t mildness = 1 + random.below(6);
  const auto share = [&](std::uint64_t most) { return static_cast<int>(random.below(most) / mildness); };
  FaultRates rates;
  rates.too_many = share(120);
  rates.failed = share(120);
  rates.unavailable = share(120);
  rates.starting = share(120);
  rates.refused = share(120);
  rates.lost = share(80);
  rates.slow = share(30);
  rates.cut_body = share(80);
  rates.expired = static_cast<int>(random.below(300));
  rates.broken_watch = static_cast<int>(random.below(1000));
  return rates;
}

TEST_F(FaultsTest, TheCacheEndsEqualToTheServerFromAnySeed) {
  std::size_t expired = 0;
  std::size_t watches = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(base::cat("seed ", seed));
    start(kHistoryBytes);
    put_faults(seed);
    base::Random random(seed * 1000);
    faults_->rates = drawn_rates(random);
    start_informer(seed);
    for (int i = 0; i < kChanges; ++i) {
      change_something(random);
      net::testing::run_for(loop_, clock_, std::chrono::milliseconds(random.below(1000)));
      if (random.below(30) == 0) faults_->rates = drawn_rates(random);
      if (random.below(60) == 0) net::testing::run_for(loop_, clock_, std::chrono::seconds(random.below(60)));
    }
    faults_->rates = FaultRates::none();
    const Contents wanted = on_server();
    const bool equal = net::testing::run_until(
        loop_, clock_, [&] { return informer_->synced() && in_cache() == wanted; }, kRecoveryLimit);
    ASSERT_TRUE(equal) << "after " << faults_->asked.size() << " requests";
    // The listeners' events add up to the same, and nothing changes any more.
    net::testing::run_for(loop_, clock_, 5min);
    EXPECT_EQ(in_cache(), wanted);
    EXPECT_EQ(told_, wanted);
    // The store's slots come on top of the objects; a deleted object must not be counted.
    constexpr std::size_t kPlaceMax = 160;  // bytes per object
    constexpr std::size_t kTableMax = 4096;
    std::size_t bytes = 0;
    std::size_t objects = 0;
    informer_->for_each([&](const kube::ObjectKey&, const kube::ConfigMap& map) {
      bytes += map.bytes();
      ++objects;
    });
    EXPECT_GE(informer_->core().bytes(), bytes);
    EXPECT_LE(informer_->core().bytes(), bytes + objects * kPlaceMax + kTableMax);
    for (const auto& asked : faults_->asked) {
      watches += asked.is_watch() ? 1 : 0;
      expired += asked.is_watch() && asked.status == 410 ? 1 : 0;
    }
    end_informer();
  }
  // The faults happened: otherwise the checks above prove nothing.
  EXPECT_GT(watches, kSeeds * 5);
  EXPECT_GT(expired, kSeeds / 2);
}

// ---- storms: the request rate to a failing server ----

TEST_F(FaultsTest, WaitsForRetryAfterInAStormOf429) {
  put_faults(11);
  faults_->rates.too_many = 1000;
  faults_->rates.retry_after_max_s = 9;
  start_informer(11);
  const base::MonotonicTime begin = clock_.monotonic();
  net::testing::run_for(loop_, clock_, 10min);
  const auto& asked = faults_->asked;
  ASSERT_GT(asked.size(), 10u) << "it must continue to send requests";
  for (std::size_t i = 1; i < asked.size(); ++i) {
    EXPECT_GE(asked[i].at - asked[i - 1].at, std::chrono::seconds(asked[i - 1].retry_after_s)) << "request " << i;
  }
  EXPECT_LT(asked_within(begin, 10min), 300u);
  faults_->rates = FaultRates::none();
  EXPECT_TRUE(net::testing::run_until(loop_, clock_, [&] { return informer_->synced(); }, 3min));
}

// The informer waits 0.5 s, doubled up to 30 s, each ± half: 15 s is the shortest of the long waits.
constexpr std::size_t kBackoffAttemptsIn10Min = 8 + 600 / 15;

TEST_F(FaultsTest, BacksOffInAStormOf500) {
  put_faults(12);
  faults_->rates.failed = 1000;
  start_informer(12);
  const base::MonotonicTime begin = clock_.monotonic();
  net::testing::run_for(loop_, clock_, 10min);
  EXPECT_LE(asked_within(begin, 10min), kBackoffAttemptsIn10Min);
  EXPECT_GE(asked_within(begin, 10min), 10u) << "it must continue to send requests";
}

TEST_F(FaultsTest, BothBackoffsLimitRequestsToAnUnreachableServer) {
  put_faults(13);
  faults_->rates.refused = 1000;
  start_informer(13);
  const base::MonotonicTime begin = clock_.monotonic();
  net::testing::run_for(loop_, clock_, 10min);
  // A call tries ten times within 15 s or more (0.1 s doubled up to 5 s, less 30 %), then the informer waits.
  EXPECT_LE(asked_within(begin, 10min), 10 * (8 + 600 / (15 + 15)));
  // Ten informers that lost the server at the same time drift apart: the client's budget limits them anyway.
  EXPECT_GE(asked_within(begin, 10min), 20u);
}

TEST_F(FaultsTest, WatchesThatAlwaysExpireCauseNoTightListLoop) {
  put_faults(14);
  faults_->rates.expired = 1000;
  start_informer(14);
  const base::MonotonicTime begin = clock_.monotonic();
  net::testing::run_for(loop_, clock_, 10min);
  EXPECT_LE(asked_within(begin, 10min), 2 * kBackoffAttemptsIn10Min);
  // No effect remains once watches work again.
  base::Random random(14);
  for (int i = 0; i < 30; ++i) change_something(random);
  faults_->rates = FaultRates::none();
  const Contents wanted = on_server();
  EXPECT_TRUE(net::testing::run_until(loop_, clock_, [&] { return in_cache() == wanted; }, 1min));
}

TEST_F(FaultsTest, BacksOffIfWatchesAlwaysBreak) {
  put_faults(15);
  faults_->rates.broken_watch = 1000;
  start_informer(15);
  ASSERT_TRUE(net::testing::run_until(loop_, clock_, [&] { return informer_->synced(); }, 1min));
  const base::MonotonicTime begin = clock_.monotonic();
  net::testing::run_for(loop_, clock_, 10min);  // nothing changes: a watch breaks at its first bookmarks
  EXPECT_LE(asked_within(begin, 10min), 600u);
  EXPECT_GE(asked_within(begin, 10min), 5u);
}

TEST_F(FaultsTest, AnExpiredWatchAfterAQuietTimeIsListedAtOnce) {
  put_faults(16);
  start_informer(16);
  base::Random random(16);
  for (int i = 0; i < 30; ++i) change_something(random);
  net::testing::run_for(loop_, clock_, 2min);
  faults_->rates.refused = 1000;  // unreachable while the history advances
  net::testing::run_for(loop_, clock_, 3min);
  for (int i = 0; i < 200; ++i) change_something(random);
  net::testing::run_for(loop_, clock_, 30min);  // the open watch ends, and is not opened again
  for (int i = 0; i < 200; ++i) change_something(random);
  faults_->rates = FaultRates::none();
  const Contents wanted = on_server();
  EXPECT_TRUE(net::testing::run_until(loop_, clock_, [&] { return in_cache() == wanted; }, 1min));
}

// ---- writes ----

// Each create uses generateName, so a repeated create would show as two objects.
TEST_F(FaultsTest, AWriteHappensAtMostOnceWhateverTheAnswer) {
  std::size_t carried_out_unanswered = 0;
  std::size_t repeated = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(base::cat("seed ", seed));
    start(1024 * 1024);
    put_faults(seed);
    base::Random random(seed + 500);
    faults_->rates = drawn_rates(random);
    kube::WriteOptions options;
    options.ns = "default";
    std::size_t succeeded = 0;
    std::size_t unknown = 0;
    for (int i = 0; i < 20; ++i) {
      const std::size_t first = faults_->asked.size();
      const std::size_t objects_before = on_server().size();
      const std::string marker = base::cat(seed, ".", i);
      const auto created = run(client_->create(
          kube::kConfigMaps,
          base::cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"w-"},"data":{"v":")", marker,
                    R"("}})"),
          options, "", kWriteLimit));
      const std::size_t made = on_server().size() - objects_before;
      ASSERT_LE(made, 1u) << "one call, two objects";
      if (created) {
        EXPECT_EQ(made, 1u);
        ++succeeded;
      } else if (made == 1) {
        ++unknown;
        EXPECT_TRUE(created.error().kind == ErrorKind::kUnavailable || created.error().kind == ErrorKind::kDeadline)
            << created.error().message;
      }
      // Only requests that the server had not begun were sent again, and not before Retry-After.
      for (std::size_t at = first + 1; at < faults_->asked.size(); ++at) {
        const auto& before = faults_->asked[at - 1];
        ++repeated;
        EXPECT_TRUE(before.status == 429 || (before.status == 503 && before.retry_after_s > 0))
            << "sent again after " << before.status;
        EXPECT_GE(faults_->asked[at].at - before.at, std::chrono::seconds(before.retry_after_s));
      }
    }
    EXPECT_EQ(on_server().size(), succeeded + unknown);
    carried_out_unanswered += unknown;
  }
  EXPECT_GT(carried_out_unanswered, kSeeds / 4);
  EXPECT_GT(repeated, kSeeds);
}

}  // namespace
}  // namespace tidemark::tests
