#include "cache_command.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/text.h"
#include "kept.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/informer.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::bench {
namespace {

constexpr base::Duration kListLimit = std::chrono::minutes(2);
constexpr base::Duration kFirstAnswerLimit = std::chrono::seconds(30);
constexpr std::size_t kCacheBytesMax = std::size_t{1} << 30;
constexpr std::uint64_t kSeed = 1;

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

double milliseconds(base::Duration d) {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(d).count()) / 1000;
}

// Whole lines of standard input; an empty optional is its end.
class Lines {
 public:
  Lines(net::EventLoop& loop, std::function<void(std::optional<std::string_view>)> on_line)
      : on_line_(std::move(on_line)) {
    watch_ = loop.watch(STDIN_FILENO, net::kReadable, [this](std::uint32_t) { read(); });
  }

 private:
  void read() {
    char piece[4096];
    const ssize_t got = ::read(STDIN_FILENO, piece, sizeof piece);
    if (got <= 0) {
      watch_.cancel();
      on_line_(std::nullopt);
      return;
    }
    pending_.append(piece, static_cast<std::size_t>(got));
    while (true) {
      const std::size_t end = pending_.find('\n');
      if (end == std::string::npos) return;
      const std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      on_line_(line);
    }
  }

  std::function<void(std::optional<std::string_view>)> on_line_;
  std::string pending_;
  net::FdWatch watch_;
};

class Cache {
 public:
  Cache(net::EventLoop& loop, kube::ClusterConfig config)
      : loop_(loop),
        log_(loop.clock(), {base::LogLevel::kWarn, base::LogFormat::kText, nullptr}),
        transport_(loop, nullptr, std::move(config.http)),
        client_(loop, transport_, std::move(config.bearer),
                {.queries_per_second = 1000, .burst = 1000, .user_agent = "tidemark-bench"}, base::Random(kSeed)),
        scope_(loop) {
    kube::InformerConfig informer;
    informer.resource = kube::kPods;
    informer.bytes_max = kCacheBytesMax;
    informer_ = std::make_unique<kube::Informer<kube::Pod>>(
        kube::InformerParts{loop, client_, client_, log_, metrics_, base::Random(kSeed)}, std::move(informer),
        [this](std::string_view bytes) { return kube::decode_pod(bytes, fields_, interner_); });
    informer_->subscribe([this](const kube::ObjectKey&, const kube::Pod* before, const kube::Pod* after) {
      if (before != nullptr && after != nullptr) note();
    });
    scope_.spawn(connect());
  }

  bool failed() const { return failed_; }

  void obey(std::optional<std::string_view> line) {
    if (!line) return loop_.stop();
    const auto words = base::split(*line, ' ');
    if (words.size() == 1 && words[0] == "list") {
      scope_.spawn(list());
    } else if (words.size() == 2 && words[0] == "expect" && base::parse_uint(words[1])) {
      expected_ = base::parse_uint(words[1]);
      answer_expected();
    } else if (words.size() == 2 && words[0] == "kept") {
      write(std::string(words[1]));
    } else {
      fail_with(base::cat("unknown line ", base::in_quotes(*line)));
    }
  }

 private:
  // The namespace first: connection and TLS are not what is measured.
  net::Task<void> connect() {
    auto answer = co_await client_.get(kube::kNamespaces, "", "default", kFirstAnswerLimit);
    if (!answer) {
      fail_with(answer.error().message);
      co_return;
    }
    ::malloc_trim(0);
    say("{\"ready\":true}");
  }

  net::Task<void> list() {
    const auto begin = loop_.clock().monotonic();
    scope_.spawn(informer_->run());
    const bool synced = co_await informer_->wait_synced(kListLimit);
    const auto took = loop_.clock().monotonic() - begin;
    ::malloc_trim(0);
    say(base::cat("{\"synced\":", synced, ",\"pods\":", informer_->core().size(), ",\"ms\":", milliseconds(took),
                  ",\"own_count_bytes\":", informer_->core().bytes() + interner_.bytes(), "}"));
  }

  void note() {
    last_ = loop_.clock().monotonic();
    if (changes_ == 0) first_ = last_;
    ++changes_;
    answer_expected();
  }

  void answer_expected() {
    if (!expected_ || changes_ < *expected_) return;
    say(base::cat("{\"changes\":", *expected_, ",\"ms\":", milliseconds(last_ - first_), "}"));
    changes_ = 0;
    expected_.reset();
  }

  void write(const std::string& path) {
    std::vector<std::string> lines;
    informer_->for_each([&](const kube::ObjectKey&, const kube::Pod& pod) { lines.push_back(kept_line(pod)); });
    const std::size_t count = lines.size();
    if (auto written = write_kept(path, std::move(lines)); !written) return fail_with(written.error().message);
    say(base::cat("{\"kept\":", count, "}"));
  }

  void fail_with(const std::string& why) {
    std::fputs(base::cat("kube_bench: ", why, "\n").c_str(), stderr);
    failed_ = true;
    loop_.stop();
  }

  net::EventLoop& loop_;
  base::Log log_;
  base::Registry metrics_;
  net::HttpClient transport_;
  kube::Client client_;
  kube::Interner interner_;
  const kube::PodFields fields_ = kept_fields();
  std::unique_ptr<kube::Informer<kube::Pod>> informer_;
  bool failed_ = false;
  std::uint64_t changes_ = 0;
  base::MonotonicTime first_;
  base::MonotonicTime last_;
  std::optional<std::uint64_t> expected_;
  net::Scope scope_;  // the last: what runs in it uses all the others
};

}  // namespace

int run_cache(const std::string& kubeconfig) {
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  kube::ConfigRequest request;
  request.kubeconfig = kubeconfig;
  auto config = kube::find_config(request, kube::system_files(), clock);
  if (!config) {
    std::fputs(base::cat("kube_bench: ", config.error().message, "\n").c_str(), stderr);
    return 1;
  }
  Cache cache(loop, std::move(*config));
  const Lines lines(loop, [&](std::optional<std::string_view> line) { cache.obey(line); });
  loop.run();
  return cache.failed() ? 1 : 0;
}

}  // namespace tidemark::bench
