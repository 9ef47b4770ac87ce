// Changes the ConfigMaps of a namespace as fast as allowed: first it creates all of them and prints "filled", then it
// patches, deletes and creates at random until the line `stop`, and prints a summary as a line of JSON. It waits for an
// unreachable server; whether a write of that time was executed is unknown, and does not matter.
#include <vector>

#include "base/flags.h"
#include "base/json.h"
#include "base/text.h"
#include "tests/faults/tool.h"

namespace tidemark::tests {
namespace {

constexpr base::Duration kWriteLimit = std::chrono::seconds(5);
constexpr base::Duration kPauseAfterFailure = std::chrono::milliseconds(100);
// For unused values: from one packet to several.
constexpr std::uint64_t kPaddingMax = 3000;

class Writer {
 public:
  Writer(net::EventLoop& loop, kube::Client& client, base::Random random, std::string ns, std::int64_t objects,
         std::int64_t workers)
      : loop_(loop),
        client_(client),
        random_(random),
        ns_(std::move(ns)),
        there_(static_cast<std::size_t>(objects), false),
        workers_(static_cast<std::size_t>(workers)),
        scope_(loop),
        commands_(loop, [this](std::string_view line) {
          if (line == "stop" || line == "quit") stopping_ = true;
        }) {
    for (std::size_t worker = 0; worker < workers_; ++worker) scope_.spawn(work(worker));
  }

 private:
  // Each worker has every n-th object to itself, so that its knowledge of them is as good as possible.
  net::Task<void> work(std::size_t worker) {
    base::Random random = random_.fork();
    for (std::size_t i = worker; i < there_.size() && !stopping_; i += workers_) {
      while (!there_[i] && !stopping_) co_await create(i, random);
    }
    if (++filled_ == workers_) say("filled\n");
    while (!stopping_ && filled_ < workers_) co_await loop_.sleep(kPauseAfterFailure);
    const std::size_t own = (there_.size() - worker + workers_ - 1) / workers_;
    while (!stopping_) {
      const std::size_t i = worker + workers_ * random.below(own);
      if (!there_[i]) {
        co_await create(i, random);
      } else if (random.below(4) == 0) {
        co_await remove(i);
      } else {
        co_await patch(i, random);
      }
    }
    if (++finished_ == workers_) finish();
  }

  static std::string name_of(std::size_t i) { return base::cat("object-", i); }
  std::string data(base::Random& random) {
    return base::cat(R"("data":{"v":")", ++values_, R"(","padding":")", std::string(random.below(kPaddingMax), 'x'),
                     R"("})");
  }
  kube::WriteOptions options() const {
    kube::WriteOptions made;
    made.ns = ns_;
    return made;
  }

  net::Task<void> create(std::size_t i, base::Random& random) {
    auto done = co_await client_.create(kube::kConfigMaps,
                                        base::cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")",
                                                  name_of(i), R"("},)", data(random), "}"),
                                        options(), "", kWriteLimit);
    there_[i] = done.has_value() || done.error().kind == ErrorKind::kAlreadyExists;
    co_await count(done ? nullptr : &done.error(), ErrorKind::kAlreadyExists);
  }
  net::Task<void> patch(std::size_t i, base::Random& random) {
    auto done = co_await client_.patch(kube::kConfigMaps, name_of(i), kube::PatchType::kMerge,
                                       base::cat("{", data(random), "}"), options(), kWriteLimit);
    if (!done && done.error().kind == ErrorKind::kNotFound) there_[i] = false;
    co_await count(done ? nullptr : &done.error(), ErrorKind::kNotFound);
  }
  net::Task<void> remove(std::size_t i) {
    auto done = co_await client_.remove(kube::kConfigMaps, name_of(i), "", options(), kWriteLimit);
    if (done || done.error().kind == ErrorKind::kNotFound) there_[i] = false;
    co_await count(done ? nullptr : &done.error(), ErrorKind::kNotFound);
  }
  // `fine`: the expected error if an unanswered earlier write was executed.
  net::Task<void> count(const Error* error, ErrorKind fine) {
    if (error == nullptr) {
      ++writes_;
    } else if (error->kind != fine) {
      ++failed_;
      co_await loop_.sleep(kPauseAfterFailure);
    }
  }

  void finish() {
    std::string out;
    base::JsonWriter json(out);
    json.begin_object().member("writes", writes_).member("failed", failed_).end_object();
    say(out + "\n");
    loop_.stop();
  }

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Random random_;
  std::string ns_;
  std::vector<bool> there_;
  std::size_t workers_;
  std::size_t filled_ = 0;
  std::size_t finished_ = 0;
  std::uint64_t values_ = 0;
  std::int64_t writes_ = 0;
  std::int64_t failed_ = 0;
  bool stopping_ = false;
  net::Scope scope_;
  Commands commands_;
};

int write(const std::vector<std::string>& args) {
  ToolOptions options;
  options.queries_per_second = 1000;
  std::int64_t seed = 1;
  std::int64_t objects = 5000;
  std::int64_t workers = 16;
  base::Flags flags("kube_writer", "Changes the ConfigMaps of a namespace at random.");
  flags.text("kubeconfig", options.kubeconfig, "kubeconfig file").required();
  flags.text("namespace", options.ns, "namespace to write to");
  flags.integer("seed", seed, 0, INT64_MAX, "seed of the changes");
  flags.integer("objects", objects, 1, 1'000'000, "maximum number of objects");
  flags.integer("workers", workers, 1, 100, "writes at the same time");
  flags.number("rate", options.queries_per_second, 1, 1e6, "maximum number of writes per second");
  const auto parsed = flags.parse(args, [](std::string_view) { return std::nullopt; }, nullptr);
  if (!parsed) return give_up(parsed.error());
  if (objects < workers) return give_up({ErrorKind::kInvalid, "fewer objects than workers", 0, 0});

  const base::SystemClock clock;
  net::EventLoop loop(clock);
  base::Random random(static_cast<std::uint64_t>(seed));
  auto tool = connect_tool(loop, random.fork(), options);
  if (!tool) return give_up(tool.error());
  Writer running(loop, *tool->client, random.fork(), options.ns, objects, workers);
  loop.run();
  return 0;
}

}  // namespace
}  // namespace tidemark::tests

int main(int argc, char** argv) {
  return tidemark::tests::write({argv + 1, argv + argc});
}
