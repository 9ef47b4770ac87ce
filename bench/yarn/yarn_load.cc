// The surroundings of a ResourceManager in the yarn bench: NodeManagers, a reader of its totals, and the naive way to
// set them. It obeys lines on standard input and answers each with a line of JSON:
//
//   yarn_load NODES TRACKER CLIENT ADMIN      ports of 127.0.0.1
//
//   register
//     all NodeManagers (node_managers.h), which send heartbeats from then on; answers how many microseconds that took
//   beats
//     answers how many heartbeats were answered so far, and how many of them late
//   confirm STEP LIMIT_S
//     asks the ResourceManager for all nodes every kLook until each has the total of that step; answers how many have,
//     and when an answer first showed the last of them (`at`) and half of them (`half_at`), in microseconds of
//     the machine's monotonic clock, with how often it asked
//   naive STEP
//     sets them in the naive way (naive.h); answers when that began and ended, with its calls and connections
//   naive_rest STEP SECONDS
//     what the naive way does where all nodes have the totals of that step already; answers the same
//   together STEP
//     sets them in one call over one connection, which is what the operator makes of a change; answers the same
//   copilots SECONDS APPLICATION
//     what 2,000 copilots ask of the ResourceManager (yarn_copilot/application_book.h) if one node after the other gets
//     a container of that application, evenly within so many seconds; answers how many know it within kAskedWithin more
//   end of input: exit
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amounts.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/text.h"
#include "bench/lines.h"
#include "hadoop/resource_manager.h"
#include "hadoop/yarn_records.h"
#include "naive.h"
#include "net/loop.h"
#include "net/worker.h"
#include "node_managers.h"
#include "yarn_copilot/application_book.h"

namespace {

using namespace tidemark;

constexpr std::uint64_t kSeed = 1;
constexpr base::Duration kLook = std::chrono::milliseconds(100);
constexpr base::Duration kCallLimit = std::chrono::seconds(10);
constexpr base::Duration kAskedWithin = std::chrono::seconds(30);
constexpr std::string_view kClientProtocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";

struct Ports {
  std::uint16_t tracker = 0, client = 0, admin = 0;
};

hadoop::Address local(std::uint16_t port) {
  return {"127.0.0.1", port};
}

class Load {
 public:
  Load(net::EventLoop& loop, const base::Log& log, std::size_t nodes, Ports ports)
      : loop_(loop),
        log_(log),
        nodes_(nodes),
        ports_(ports),
        random_(kSeed),
        lines_(loop, "yarn_load", [this](const bench::Lines::Words& words) { return obey(words); }),
        node_managers_(loop, local(ports.tracker), nodes, random_.fork(),
                       [this](const std::string& why) { lines_.fail(why); }),
        reader_(loop, nullptr, reader_config(ports), random_.fork()),
        scope_(loop) {
    bench::say("{\"ready\":true}");
  }

  bool failed() const { return lines_.failed(); }

 private:
  static hadoop::RpcConfig reader_config(const Ports& ports) {
    hadoop::RpcConfig config;
    config.server = local(ports.client);
    config.protocol = kClientProtocol;
    config.identity.real_user = "root";
    return config;
  }

  bool obey(const bench::Lines::Words& words) {
    if (words[0] == "copilots" && words.size() == 3) {
      const auto seconds = base::parse_int(words[1]);
      if (!seconds || *seconds <= 0) return false;
      scope_.spawn(copilots(std::chrono::seconds(*seconds), std::string(words[2])));
      return true;
    }
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto number = base::parse_int(words[i]);
      if (!number || *number < 0 || *number > bench::kStepsMax) return false;
      numbers.push_back(*number);
    }
    if (words[0] == "register" && numbers.empty()) {
      scope_.spawn(register_all());
    } else if (words[0] == "beats" && numbers.empty()) {
      bench::say(base::cat(R"({"answered":)", node_managers_.beats_answered(), R"(,"late":)",
                           node_managers_.beats_late(), "}"));
    } else if (words[0] == "confirm" && numbers.size() == 2) {
      scope_.spawn(confirm(numbers[0], std::chrono::seconds(numbers[1])));
    } else if (words[0] == "naive" && numbers.size() == 1) {
      scope_.spawn(naive(numbers[0], std::nullopt));
    } else if (words[0] == "naive_rest" && numbers.size() == 2) {
      scope_.spawn(naive(numbers[0], std::chrono::seconds(numbers[1])));
    } else if (words[0] == "together" && numbers.size() == 1) {
      scope_.spawn(together(numbers[0]));
    } else {
      return false;
    }
    return true;
  }

  net::Task<void> register_all() {
    const base::MonotonicTime begin = loop_.clock().monotonic();
    if (const auto done = co_await node_managers_.register_all(); !done) {
      lines_.fail(base::cat("registering: ", done.error().message));
      co_return;
    }
    bench::say(base::cat(R"({"us":)", bench::micros_of(loop_.clock().monotonic()) - bench::micros_of(begin), "}"));
  }

  net::Task<void> confirm(std::int64_t step, base::Duration limit) {
    std::vector<hadoop::NodeUpdate> wanted = totals(step);
    const auto by_id = [](const hadoop::NodeUpdate& a, const hadoop::NodeUpdate& b) { return a.id < b.id; };
    std::ranges::sort(wanted, by_id);

    const base::MonotonicTime end = loop_.clock().monotonic() + limit;
    std::size_t right = 0;
    std::uint64_t looks = 0;
    std::optional<base::MonotonicTime> half_at;
    base::MonotonicTime at;
    while (true) {
      const base::MonotonicTime begin = loop_.clock().monotonic();
      constexpr hadoop::Method kNodes{kClientProtocol, "getClusterNodes"};
      const auto response =
          co_await reader_.call(kNodes, hadoop::encode_get_cluster_nodes({hadoop::NodeState::kRunning}), kCallLimit);
      const auto reports = response ? hadoop::decode_get_cluster_nodes(*response) : fail(response.error());
      if (!reports) {
        lines_.fail(base::cat("reading totals: ", reports.error().message));
        co_return;
      }
      ++looks;
      right = 0;
      for (const hadoop::NodeReport& each : reports->nodes) {
        const hadoop::NodeUpdate key{each.id, {}, std::nullopt};
        const auto found = std::ranges::lower_bound(wanted, key, by_id);
        if (found != wanted.end() && found->id == each.id && found->total.memory_mib == each.capability.memory_mib &&
            found->total.vcores == each.capability.vcores) {
          ++right;
        }
      }
      at = loop_.clock().monotonic();
      if (!half_at && 2 * right >= nodes_) half_at = at;
      if (right == nodes_ || at > end) break;
      const base::Duration wait = begin + kLook - at;
      if (wait > base::Duration(0)) co_await loop_.sleep(wait);
    }
    bench::say(base::cat(R"({"right":)", right, R"(,"at":)", bench::micros_of(at), R"(,"half_at":)",
                         bench::micros_of(half_at.value_or(at)), R"(,"looks":)", looks, "}"));
  }

  net::Task<void> copilots(base::Duration within, std::string application) {
    yarn_copilot::ApplicationBookConfig config;
    config.managers = manager();
    std::vector<std::unique_ptr<yarn_copilot::ApplicationBook>> books;
    for (std::size_t node = 0; node < nodes_; ++node) {
      books.push_back(
          std::make_unique<yarn_copilot::ApplicationBook>(loop_, workers_, log_, metrics_, random_.fork(), config));
    }
    const base::MonotonicTime begin = loop_.clock().monotonic();
    for (std::size_t node = 0; node < nodes_; ++node) {
      const base::MonotonicTime due =
          begin + within * static_cast<std::int64_t>(node) / static_cast<std::int64_t>(nodes_);
      const base::Duration wait = due - loop_.clock().monotonic();
      if (wait > base::Duration(0)) co_await loop_.sleep(wait);
      books[node]->set({application});
    }
    const base::MonotonicTime end = loop_.clock().monotonic() + kAskedWithin;
    const auto known = [&] {
      return std::ranges::count_if(books, [&](const auto& book) { return book->find(application) != nullptr; });
    };
    while (known() < std::ssize(books) && loop_.clock().monotonic() < end) co_await loop_.sleep(kLook);
    bench::say(base::cat(R"({"known":)", known(), R"(,"at":)", bench::micros_of(loop_.clock().monotonic()), "}"));
  }

  hadoop::RmCluster manager() const {
    return {{{.id = "", .client = local(ports_.client), .admin = local(ports_.admin)}}, {"root", ""}};
  }

  std::vector<hadoop::NodeUpdate> totals(std::int64_t step) const {
    std::vector<hadoop::NodeUpdate> all;
    all.reserve(nodes_);
    for (std::size_t node = 0; node < nodes_; ++node) {
      all.push_back({{bench::nm_host(node), bench::kNmPort},
                     {bench::yarn_memory_mib(node, step), bench::yarn_vcores(node, step), {}},
                     hadoop::Overcommit::keep()});
    }
    return all;
  }

  net::Task<void> together(std::int64_t step) {
    const base::MonotonicTime begin = loop_.clock().monotonic();
    hadoop::ResourceManager server(loop_, nullptr, manager(), random_.fork());
    if (const auto told = co_await server.update(totals(step), kCallLimit); !told) {
      lines_.fail(base::cat("in one call: ", told.error().message));
      co_return;
    }
    answer(begin, loop_.clock().monotonic(), server.calls(), server.connections());
  }

  static void answer(base::MonotonicTime begin, base::MonotonicTime end, std::uint64_t calls,
                     std::uint64_t connections) {
    bench::say(base::cat(R"({"begin":)", bench::micros_of(begin), R"(,"end":)", bench::micros_of(end), R"(,"calls":)",
                         calls, R"(,"connections":)", connections, "}"));
  }

  // For so long, where there is nothing to be changed.
  net::Task<void> naive(std::int64_t step, std::optional<base::Duration> rest) {
    bench::Naive way(loop_, local(ports_.client), local(ports_.admin), random_.fork());
    std::optional<Error> wrong;
    const base::MonotonicTime begin = loop_.clock().monotonic();
    base::MonotonicTime end;
    {
      const auto poll = [&]() -> net::Task<void> { wrong = co_await way.poll(); };
      const auto repeat = [&]() -> net::Task<void> { wrong = co_await way.tell_at_reports(nodes_, step); };
      net::Scope scope(loop_);
      scope.spawn(poll());
      if (rest) {
        scope.spawn(repeat());
        co_await loop_.sleep(*rest);
      } else if (auto told = co_await way.tell(nodes_, step); !told) {
        wrong = std::move(told).error();
      }
      end = loop_.clock().monotonic();
    }
    if (wrong) {
      lines_.fail(base::cat("the naive way: ", wrong->message));
      co_return;
    }
    answer(begin, end, way.calls(), way.connections());
  }

  net::EventLoop& loop_;
  base::Log log_;
  base::Registry metrics_;
  net::WorkerPool workers_{1, 64};
  const std::size_t nodes_;
  const Ports ports_;
  base::Random random_;
  bench::Lines lines_;
  bench::NodeManagers node_managers_;
  hadoop::RpcClient reader_;
  net::Scope scope_;  // the last: what runs in it uses all the others
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::uint64_t> numbers;
  for (int i = 1; i < argc; ++i) {
    if (const auto number = base::parse_uint(argv[i]); number && *number > 0 && *number <= 65'535) {
      numbers.push_back(*number);
    }
  }
  if (numbers.size() != 4 || argc != 5) {
    std::fputs("usage: yarn_load NODES TRACKER CLIENT ADMIN\n", stderr);
    return 2;
  }
  const auto port = [&](std::size_t i) { return static_cast<std::uint16_t>(numbers[i]); };
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  const base::Log log = base::Log(clock, {base::LogLevel::kWarn, base::LogFormat::kText, nullptr}).named("load");
  Load load(loop, log, numbers[0], {.tracker = port(1), .client = port(2), .admin = port(3)});
  loop.run();
  return load.failed() ? 1 : 0;
}
