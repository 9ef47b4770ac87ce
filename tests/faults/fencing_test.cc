// A leader that was stopped between deciding and writing: its late write must not overwrite its successor's.
//
// Two managers, each on its own event loop, and the API server in memory on a third; one simulated clock. A loop that
// does not run is a process under SIGSTOP: time passes, all its timers are due at once when it continues, and its
// pending network writes go out first.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/log.h"
#include "base/testing/clock.h"
#include "embedded/crds.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "kube/objects.h"
#include "manager/capacity/capacity_patch.h"
#include "manager/manager.h"
#include "model/names.h"
#include "net/testing/loop.h"

namespace tidemark::tests {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kLimit = 30s;
constexpr std::int64_t kSellableMilli = 32'000 * 60 / 100;  // of 32 cores, by the default settings

// Holds back writes of node statuses until each is released, even if its sender no longer waits.
class HoldingTransport final : public net::HttpTransport {
 public:
  HoldingTransport(net::EventLoop& loop, net::HttpTransport& inner)
      : loop_(loop), inner_(inner), gate_(loop), scope_(loop) {}

  int hold = 0;               // number of next writes to hold
  int held = 0;               // number of held writes
  std::vector<int> late;      // answers to held writes
  std::vector<int> statuses;  // answers to other writes
  void let_go() { gate_.set(); }

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override {
    const bool capacity = request.method == "PATCH" && request.target.starts_with("/api/v1/nodes/");
    if (!capacity || hold == 0) {
      auto response = co_await inner_.fetch(std::move(request), limit);
      if (capacity && response) statuses.push_back(response->status);
      co_return response;
    }
    --hold;
    ++held;
    auto late_one = std::make_shared<Late>(loop_);
    scope_.spawn(deliver(std::move(request), late_one));
    if (!co_await late_one->done.wait_for(limit)) co_return fail(ErrorKind::kDeadline, "no answer in time");
    co_return *late_one->answer;
  }
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override {
    return inner_.open(std::move(request), limit);
  }

 private:
  struct Late {
    explicit Late(net::EventLoop& loop) : done(loop) {}
    net::Event done;
    std::optional<Result<net::HttpResponse>> answer;
  };
  net::Task<void> deliver(net::HttpRequest request, std::shared_ptr<Late> late_one) {
    co_await gate_.wait();
    late_one->answer = co_await inner_.fetch(std::move(request), kLimit);
    if (*late_one->answer) late.push_back((*late_one->answer)->status);
    late_one->done.set();
  }

  net::EventLoop& loop_;
  net::HttpTransport& inner_;
  net::Event gate_;
  net::Scope scope_;
};

struct Replica {
  Replica(const base::Clock& clock, const net::HttpHandler& handler, const base::Log& log, std::string identity,
          std::uint64_t seed)
      : loop(clock),
        direct(loop, handler, identity),
        transport(loop, direct),
        client(loop, transport, nullptr, kube::ClientConfig{}, base::Random(seed)),
        election(loop, transport, nullptr, manager::election_client_config(), base::Random(seed + 2)) {
    manager::ManagerOptions options;
    options.metrics_address = "0";
    options.lease.identity = std::move(identity);
    auto made = manager::Manager::make(loop, client, election, log, metrics, base::Random(seed + 1), options);
    TM_CHECK(made.has_value(), "the options are right");
    manager = std::move(*made);
    manager->start();
  }
  bool leading() { return metrics.gauge("tidemark_leader", "").value() == 1; }

  net::EventLoop loop;
  kube::memory::LocalTransport direct;
  HoldingTransport transport;
  kube::Client client;
  kube::Client election;
  base::Registry metrics;
  std::unique_ptr<manager::Manager> manager;
};

class FencingTest : public ::testing::Test {
 protected:
  FencingTest() {
    auto opened = kube::memory::Server::open(loop_, log_, {}, nullptr);
    TM_CHECK(opened.has_value(), "a server without a file opens");
    server_ = std::move(*opened);
    transport_ = std::make_unique<kube::memory::LocalTransport>(loop_, server_->handler(), "admin");
    admin_ = std::make_unique<kube::Client>(
        loop_, *transport_, nullptr,
        kube::ClientConfig{.queries_per_second = 1e6, .burst = 1000, .user_agent = "admin"}, base::Random(1));
    need(admin(embedded::install_crds(*admin_, log_)));
    create(kube::kNamespaces, R"({"metadata":{"name":"koordinator-system"}})");
    create(kube::kConfigMaps,
           R"({"metadata":{"name":"slo-controller-config"},"data":{"colocation-config":"{\"enable\":true}"}})",
           "koordinator-system");
    create(kube::kNodes, R"({"metadata":{"name":"n1"}})");
    patch_status(kube::kNodes, R"({"status":{"capacity":{"cpu":"32","memory":"128Gi"},)"
                               R"("allocatable":{"cpu":"32","memory":"128Gi"}}})");
    create(kube::kNodeMetrics, R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric",)"
                               R"("metadata":{"name":"n1"},"spec":{}})");
  }

  template <class T>
  T admin(net::Task<T> task) {
    return net::testing::run_task(loop_, clock_, std::move(task));
  }
  template <class T>
  static T need(Result<T> result) {
    TM_CHECK(result.has_value(), result ? "" : result.error().message.c_str());
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }
  void create(const kube::Resource& resource, std::string body, std::string_view ns = "") {
    kube::WriteOptions options;
    options.ns = ns;
    need(admin(admin_->create(resource, std::move(body), options, "", kLimit)));
  }
  void patch_status(const kube::Resource& resource, std::string body) {
    kube::WriteOptions options;
    options.subresource = "status";
    need(admin(admin_->patch(resource, "n1", kube::PatchType::kMerge, std::move(body), options, kLimit)));
  }

  // The node's own processes use this many cores, measured now.
  void measure(std::int64_t cores) {
    const std::string usage = base::cat(R"({"resources":{"cpu":")", cores, R"(","memory":"4Gi"}})");
    patch_status(kube::kNodeMetrics,
                 base::cat(R"({"status":{"updateTime":")", base::format_rfc3339(clock_.wall()),
                           R"(","nodeMetric":{"nodeUsage":)", usage, R"(,"systemUsage":)", usage,
                           R"(},"podsMetric":[],"prodReclaimableMetric":{"resource":{"resources":{}}}}})"));
  }

  struct OnNode {
    std::string revision;
    std::int64_t batch_cpu = -1;
    std::int64_t epoch = 0;
  };
  OnNode on_node() {
    const std::string bytes = need(admin(admin_->get(kube::kNodes, "", "n1", kLimit)));
    kube::Interner interner;
    kube::NodeFields fields;
    fields.meta.annotations = {manager::kEpochAnnotation};
    const auto node = need(kube::decode_node(bytes, fields, interner));
    return {node.meta.resource_version, node.allocatable.find(model::kBatchCpu).value_or(-1),
            manager::read_epoch(node.meta.annotations.get(manager::kEpochAnnotation))};
  }

  std::unique_ptr<Replica> replica(std::string identity, std::uint64_t seed) {
    return std::make_unique<Replica>(clock_, server_->handler(), log_, std::move(identity), seed);
  }

  // Runs only the server and the named replicas, until the condition holds.
  template <class Condition>
  bool run(std::vector<Replica*> running, Condition&& condition, base::Duration limit = 2min) {
    // One loop may make another ready, several times, before all have only timers left.
    constexpr int kRounds = 12;
    std::vector<net::EventLoop*> loops{&loop_};
    for (auto* replica : running) loops.push_back(&replica->loop);
    const base::MonotonicTime end = clock_.monotonic() + limit;
    while (true) {
      for (int round = 0; round < kRounds; ++round) {
        for (auto* loop : loops) loop->run_ready();
      }
      if (condition()) return true;
      std::optional<base::MonotonicTime> next;
      for (auto* loop : loops) {
        const auto timer = loop->next_timer();
        if (timer && (!next || *timer < *next)) next = timer;
      }
      if (!next || *next > end) return false;
      if (*next > clock_.monotonic()) clock_.advance(*next - clock_.monotonic());
    }
  }
  void run_for(std::vector<Replica*> running, base::Duration time) {
    const base::MonotonicTime end = clock_.monotonic() + time;
    run(running, [&] { return clock_.monotonic() >= end; }, time);
  }

  base::testing::Clock clock_;
  net::EventLoop loop_{clock_};
  base::Log log_{clock_, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::unique_ptr<kube::memory::Server> server_;
  std::unique_ptr<kube::memory::LocalTransport> transport_;
  std::unique_ptr<kube::Client> admin_;
};

std::int64_t left(std::int64_t cores) {
  return kSellableMilli - cores * 1000;
}

TEST_F(FencingTest, ALateWriteOfAStoppedLeaderIsRefusedAfterItsSuccessorsWrite) {
  std::uint64_t seed = 0;
  // Measured before, at the old leader's decision, at its successor's decision. Also if the successor finds the right
  // numbers on the node: it writes anyway, because the old leader's write may be in flight.
  for (const auto& [before, decided, after] :
       {std::array<std::int64_t, 3>{2, 12, 5}, {2, 12, 2}, {12, 2, 2}, {3, 9, 15}, {15, 9, 3}}) {
    SCOPED_TRACE(base::cat(before, ", ", decided, ", ", after));
    measure(before);
    ++seed;
    auto old_one = replica(base::cat("old-", seed), seed);
    ASSERT_TRUE(run({old_one.get()}, [&] { return old_one->leading() && on_node().batch_cpu == left(before); }));
    auto new_one = replica(base::cat("new-", seed), seed + 100);
    run_for({old_one.get(), new_one.get()}, 5s);
    ASSERT_FALSE(new_one->leading());

    old_one->transport.hold = 1;
    measure(decided);
    ASSERT_TRUE(run({old_one.get(), new_one.get()}, [&] { return old_one->transport.held == 1; }));
    // SIGSTOP, with the write decided but not sent.
    const std::int64_t old_epoch = on_node().epoch;
    measure(after);
    ASSERT_TRUE(run({new_one.get()}, [&] { return new_one->leading(); }));
    ASSERT_TRUE(run({new_one.get()}, [&] { return on_node().epoch > old_epoch; }));
    ASSERT_TRUE(run({new_one.get()}, [&] { return on_node().batch_cpu == left(after); }));
    const OnNode written = on_node();
    // SIGCONT: the write goes out before anything else in that process.
    const std::size_t old_writes = old_one->transport.statuses.size();
    old_one->transport.let_go();
    ASSERT_TRUE(run({old_one.get(), new_one.get()}, [&] { return old_one->transport.late.size() == 1; }));
    EXPECT_EQ(old_one->transport.late.front(), 409);
    run_for({old_one.get(), new_one.get()}, 40s);
    EXPECT_EQ(on_node().revision, written.revision) << "another write happened";
    EXPECT_EQ(on_node().batch_cpu, left(after));
    EXPECT_EQ(old_one->transport.statuses.size(), old_writes) << "the old leader wrote once more";
    EXPECT_FALSE(old_one->leading());
    EXPECT_TRUE(new_one->leading());
  }
}

TEST_F(FencingTest, ALateWriteBeforeTheSuccessorsWriteIsOverwritten) {
  measure(2);
  auto old_one = replica("old", 1);
  ASSERT_TRUE(run({old_one.get()}, [&] { return on_node().batch_cpu == left(2); }));
  auto new_one = replica("new", 2);
  old_one->transport.hold = 1;
  measure(12);
  ASSERT_TRUE(run({old_one.get(), new_one.get()}, [&] { return old_one->transport.held == 1; }));
  // The successor has also decided when the old leader's write arrives.
  new_one->transport.hold = 1;
  measure(5);
  ASSERT_TRUE(run({new_one.get()}, [&] { return new_one->transport.held == 1; }));
  old_one->transport.let_go();
  ASSERT_TRUE(run({old_one.get()}, [&] { return old_one->transport.late.size() == 1; }));
  EXPECT_EQ(old_one->transport.late.front(), 200) << "no write since its decision";
  new_one->transport.let_go();
  ASSERT_TRUE(run({old_one.get(), new_one.get()}, [&] { return new_one->transport.late.size() == 1; }));
  EXPECT_EQ(new_one->transport.late.front(), 409);
  ASSERT_TRUE(run({old_one.get(), new_one.get()}, [&] { return on_node().batch_cpu == left(5); }));
  run_for({old_one.get(), new_one.get()}, 40s);
  EXPECT_EQ(on_node().batch_cpu, left(5));
}

TEST_F(FencingTest, AWriteDelayedByTheNetworkIsRefusedAfterALaterOneOfTheSameLeader) {
  measure(2);
  auto one = replica("one", 1);
  ASSERT_TRUE(run({one.get()}, [&] { return on_node().batch_cpu == left(2); }));
  one->transport.hold = 1;
  measure(12);
  ASSERT_TRUE(run({one.get()}, [&] { return one->transport.held == 1; }));
  ASSERT_TRUE(run({one.get()}, [&] { return on_node().batch_cpu == left(12); })) << "retried after its limit";
  measure(5);
  ASSERT_TRUE(run({one.get()}, [&] { return on_node().batch_cpu == left(5); }));
  one->transport.let_go();
  ASSERT_TRUE(run({one.get()}, [&] { return one->transport.late.size() == 1; }));
  EXPECT_EQ(one->transport.late.front(), 409);
  run_for({one.get()}, 40s);
  EXPECT_EQ(on_node().batch_cpu, left(5));
}

}  // namespace
}  // namespace tidemark::tests
