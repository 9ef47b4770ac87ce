// The client of the watch bench: many watches over one HTTP/2 connection, a writer on another, and the account of who
// saw what when. It is steered by lines on standard input and answers each with a line of JSON:
//
//   watch_bench KUBECONFIG OBJECTS ALL
//     create          makes OBJECTS ConfigMaps
//     watch           ALL watches of every one of them, and OBJECTS watches of one each
//     write RATE SECONDS   changes objects in turn, RATE a second whether answered or not; answers when every watcher
//                     saw what it should, or kSettleLimit after the last answer
//     bounds          what the server may hold, by the named numbers of its own build
//     end of input    exit
//
// Latency is from the write's answer read to the event read, both by this process: what waits in it counts too. An
// event may come before the answer of its write; its latency is 0 then. `sent` is the same from the sending of the
// write on.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "bench/lines.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/memory/store.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace {

using namespace tidemark;

constexpr std::string_view kNamespace = "default";
constexpr std::string_view kPrefix = "watched-";
constexpr std::size_t kPayloadBytes = 800;  // of an object, so that it has the size of a small ConfigMap
constexpr std::size_t kCreatesAtOnce = 32;
constexpr std::size_t kWritesAtOnceMax =
    2000;  // waiting for their answers; what would be more is not sent, and counted
constexpr base::Duration kTick = std::chrono::milliseconds(5);
constexpr base::Duration kCallLimit = std::chrono::seconds(30);
constexpr base::Duration kSettleLimit = std::chrono::seconds(60);
constexpr std::uint64_t kSeed = 1;

double milliseconds(base::Duration d) {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(d).count()) / 1000;
}

std::string name_of(std::size_t object) {
  return base::cat(kPrefix, object);
}

// The text between `before` and the next quote.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + before.size());
  return base::parse_uint(rest.substr(0, rest.find('"')));
}

// Latencies of one kind of watcher.
struct Latencies {
  std::vector<base::Duration> answered;  // since the answer
  std::vector<base::Duration> sent;      // since the sending
  std::size_t before_answer = 0;

  static std::string percentiles(std::vector<base::Duration>& all) {
    std::sort(all.begin(), all.end());
    const auto at = [&](double part) {
      if (all.empty()) return 0.0;
      return milliseconds(
          all[std::min(all.size() - 1, static_cast<std::size_t>(part * static_cast<double>(all.size())))]);
    };
    return base::cat("{\"p50\":", at(0.5), ",\"p99\":", at(0.99), ",\"max\":", at(1.0), "}");
  }
  std::string json() {
    return base::cat("{\"events\":", sent.size(), ",\"before_answer\":", before_answer,
                     ",\"answered\":", percentiles(answered), ",\"sent\":", percentiles(sent), "}");
  }
};

// One write, from its sending on.
struct Write {
  std::size_t object = 0;
  base::MonotonicTime sent;
  std::optional<base::MonotonicTime> answered;
  bool refused = false;
};

struct Watcher {
  std::optional<std::size_t> object;  // nullopt: all
  std::size_t seen = 0;               // of this round
  std::uint64_t revision = 0;         // the last one; they rise
};

class Bench {
 public:
  Bench(net::EventLoop& loop, const kube::ClusterConfig& config, std::size_t objects, std::size_t all)
      : loop_(loop),
        objects_(objects),
        writes_transport_(loop, nullptr, config.http),
        watches_transport_(loop, nullptr, config.http),
        writer_(loop, writes_transport_, config.bearer, {1e6, 1'000'000, "watch-bench-writer"}, base::Random(kSeed)),
        reader_(loop, watches_transport_, config.bearer, {1e6, 1'000'000, "watch-bench"}, base::Random(kSeed)),
        lines_(loop, "watch_bench", [this](const bench::Lines::Words& words) { return obey(words); }),
        scope_(loop) {
    for (std::size_t i = 0; i < all; ++i) watchers_.push_back({});
    for (std::size_t i = 0; i < objects; ++i) watchers_.push_back({i, 0, 0});
    bench::say("{\"ready\":true}");
  }

  bool failed() const { return lines_.failed(); }

 private:
  bool obey(const bench::Lines::Words& words) {
    if (words.size() == 1 && words[0] == "create") {
      for (std::size_t i = 0; i < kCreatesAtOnce; ++i) scope_.spawn(create());
    } else if (words.size() == 1 && words[0] == "watch") {
      scope_.spawn(open_watches());
    } else if (words.size() == 1 && words[0] == "bounds") {
      const kube::memory::StoreConfig store;
      bench::say(base::cat("{\"history\":", store.history_bytes_max, ",\"queues\":", store.watch_queues_bytes_max,
                           ",\"stream\":", net::HttpExchange::kQueuedMax, "}"));
    } else if (words.size() == 3 && words[0] == "write" && base::parse_uint(words[1]) && base::parse_uint(words[2])) {
      scope_.spawn(write_all(*base::parse_uint(words[1]), *base::parse_uint(words[2])));
    } else {
      return false;
    }
    return true;
  }

  net::Task<void> create() {
    const std::string payload(kPayloadBytes, 'x');
    while (next_create_ < objects_ && !lines_.failed()) {
      const std::string name = name_of(next_create_++);
      kube::WriteOptions options;
      options.ns = kNamespace;
      auto made = co_await writer_.create(kube::kConfigMaps,
                                          base::cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")",
                                                    name, R"("},"data":{"payload":")", payload, R"("}})"),
                                          options, "", kCallLimit);
      if (!made) {
        lines_.fail(base::cat("create ", name, ": ", made.error().message));
        co_return;
      }
      if (++created_ == objects_) bench::say(base::cat("{\"created\":", created_, "}"));
    }
  }

  net::Task<void> open_watches() {
    kube::ListOptions options;
    options.ns = kNamespace;
    auto revision = co_await reader_.list(
        kube::kConfigMaps, options, [](std::string_view) -> Result<void> { return {}; }, [] {}, kCallLimit);
    if (!revision) {
      lines_.fail(revision.error().message);
      co_return;
    }
    for (Watcher& watcher : watchers_) scope_.spawn(watch(watcher, *revision));
  }

  net::Task<void> watch(Watcher& watcher, std::string revision) {
    kube::WatchOptions options;
    options.ns = kNamespace;
    options.resource_version = std::move(revision);
    options.server_timeout = std::chrono::minutes(30);
    options.silence_limit = std::chrono::minutes(5);
    if (watcher.object) options.field_selector = base::cat("metadata.name=", name_of(*watcher.object));
    auto stream = co_await reader_.watch(kube::kConfigMaps, std::move(options));
    if (!stream) {
      lines_.fail(base::cat("watch: ", stream.error().message));
      co_return;
    }
    if (++open_ == watchers_.size()) {
      bench::say(base::cat("{\"watching\":", open_, ",\"connections\":", watches_transport_.connections(), "}"));
    }
    while (true) {
      auto event = co_await (*stream)->next();
      if (!event || !*event) {
        lines_.fail(base::cat("a watch ended: ", event ? std::string("by the server") : event.error().message));
        co_return;
      }
      if ((*event)->type != kube::EventType::kBookmark) take(watcher, (*event)->object);
    }
  }

  void take(Watcher& watcher, std::string_view object) {
    const auto serial = number_after(object, "\"serial\":\"");
    const auto revision = number_after(object, "\"resourceVersion\":\"");
    if (!serial) return;  // another program's object
    if (!revision || *serial >= writes_.size()) return lines_.fail("an event without a write");
    const Write& write = writes_[*serial];
    if (watcher.object && *watcher.object != write.object) return lines_.fail("an event of an object not asked for");
    if (*revision <= watcher.revision) return lines_.fail("an event twice, or out of order");
    watcher.revision = *revision;
    if (*serial < round_begin_) return lines_.fail("an event of a round that was over");
    ++watcher.seen;
    ++seen_;
    last_seen_ = loop_.clock().monotonic();
    Latencies& latencies = watcher.object ? of_one_ : of_all_;
    latencies.sent.push_back(last_seen_ - write.sent);
    latencies.answered.push_back(write.answered ? last_seen_ - *write.answered : base::Duration(0));
    latencies.before_answer += write.answered ? 0 : 1;
  }

  net::Task<void> write_all(std::uint64_t rate, std::uint64_t seconds) {
    round_begin_ = writes_.size();
    skipped_ = refused_ = seen_ = 0;
    of_all_ = of_one_ = {};
    for (Watcher& watcher : watchers_) watcher.seen = 0;
    const std::uint64_t total = rate * seconds;
    writes_.reserve(writes_.size() + total);
    const base::MonotonicTime begin = loop_.clock().monotonic();
    std::uint64_t due_before = 0;
    while (due_before < total && !lines_.failed()) {
      const auto elapsed = loop_.clock().monotonic() - begin;
      const auto due = std::min<std::uint64_t>(
          total, rate * static_cast<std::uint64_t>(elapsed / std::chrono::microseconds(1)) / 1'000'000);
      for (; due_before < due; ++due_before) {
        if (waiting_ >= kWritesAtOnceMax) {
          ++skipped_;
          continue;
        }
        ++waiting_;
        scope_.spawn(write(writes_.size()));
        writes_.push_back({(writes_.size() * 7) % objects_, loop_.clock().monotonic(), std::nullopt, false});
      }
      co_await loop_.sleep(kTick);
    }
    while (waiting_ > 0 && !lines_.failed()) co_await loop_.sleep(kTick);
    const base::MonotonicTime written = loop_.clock().monotonic();
    while (!settled() && loop_.clock().monotonic() - written < kSettleLimit && !lines_.failed())
      co_await loop_.sleep(kTick);
    if (!lines_.failed()) report(written - begin);
  }

  net::Task<void> write(std::size_t serial) {
    const std::size_t object = writes_[serial].object;
    kube::WriteOptions options;
    options.ns = kNamespace;
    auto answer = co_await writer_.patch(kube::kConfigMaps, name_of(object), kube::PatchType::kMerge,
                                         base::cat(R"({"data":{"serial":")", serial, R"("}})"), options, kCallLimit);
    --waiting_;
    if (!answer) {
      writes_[serial].refused = true;
      ++refused_;
      std::fputs(base::cat("watch_bench: write: ", answer.error().message, "\n").c_str(), stderr);
      co_return;
    }
    writes_[serial].answered = loop_.clock().monotonic();
  }

  std::vector<std::size_t> writes_of_objects() const {
    std::vector<std::size_t> count(objects_);
    for (std::size_t i = round_begin_; i < writes_.size(); ++i) count[writes_[i].object] += writes_[i].refused ? 0 : 1;
    return count;
  }

  std::size_t acknowledged() const { return writes_.size() - round_begin_ - refused_; }
  std::size_t alls() const { return watchers_.size() - objects_; }
  bool settled() const { return seen_ >= acknowledged() * (alls() + 1); }

  void report(base::Duration took) {
    const auto wanted = writes_of_objects();
    std::size_t starved = 0;
    for (const Watcher& watcher : watchers_) {
      starved += watcher.seen == (watcher.object ? wanted[*watcher.object] : acknowledged()) ? 0 : 1;
    }
    bench::say(base::cat("{\"writes\":", acknowledged(), ",\"skipped\":", skipped_, ",\"refused\":", refused_,
                         ",\"ms\":", milliseconds(took), ",\"events\":", seen_, ",\"starved\":", starved, ",",
                         "\"all\":", of_all_.json(), ",\"one\":", of_one_.json(), "}"));
  }

  net::EventLoop& loop_;
  std::size_t objects_;
  net::HttpClient writes_transport_;
  net::HttpClient watches_transport_;
  kube::Client writer_;
  kube::Client reader_;
  std::vector<Watcher> watchers_;
  std::size_t next_create_ = 0;
  std::size_t created_ = 0;
  std::size_t open_ = 0;
  std::vector<Write> writes_;  // the serial is the index
  std::size_t round_begin_ = 0;
  std::size_t waiting_ = 0;
  std::size_t skipped_ = 0;
  std::size_t refused_ = 0;
  std::size_t seen_ = 0;
  base::MonotonicTime last_seen_;
  Latencies of_all_;
  Latencies of_one_;
  bench::Lines lines_;
  net::Scope scope_;  // the last: what runs in it uses all the others
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto objects = words.size() == 3 ? base::parse_uint(words[1]) : std::nullopt;
  const auto all = words.size() == 3 ? base::parse_uint(words[2]) : std::nullopt;
  if (!objects || !all || *objects == 0) {
    std::fputs("usage: watch_bench KUBECONFIG OBJECTS ALL\n", stderr);
    return 2;
  }
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  kube::ConfigRequest request;
  request.kubeconfig = words[0];
  const auto config = kube::find_config(request, kube::system_files(), clock);
  if (!config) {
    std::fputs(base::cat("watch_bench: ", config.error().message, "\n").c_str(), stderr);
    return 1;
  }
  Bench bench(loop, *config, *objects, *all);
  loop.run();
  return bench.failed() ? 1 : 0;
}
