// Follows the ConfigMaps of a namespace through the informer, and prints its content on request:
//
//   dump   a line "NAME RESOURCE_VERSION VALUE" for each object, sorted by name, then the line of `stats`
//   stats  a line of JSON
//   quit   ends it, as does the end of standard input
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/flags.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/text.h"
#include "kube/client_metrics.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "tests/faults/tool.h"

namespace tidemark::tests {
namespace {

class Mirror {
 public:
  Mirror(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Registry& metrics, base::Random random,
         kube::InformerConfig config)
      : loop_(loop),
        metrics_(metrics),
        informer_({loop, client, client, log, metrics_, random}, std::move(config),
                  [this](std::string_view bytes) { return kube::decode_config_map(bytes, {}, {"v"}, interner_); }),
        scope_(loop),
        commands_(loop, [this](std::string_view line) { obey(line); }) {
    scope_.spawn(informer_.run());
  }

 private:
  void obey(std::string_view line) {
    if (line == "quit") return loop_.stop();
    if (line == "dump") say(dump());
    if (line == "dump" || line == "stats") return say(stats());
    say(base::cat("{\"error\":\"unknown command\"}\n"));
  }

  std::string dump() const {
    std::vector<std::string> lines;
    lines.reserve(informer_.core().size());
    informer_.for_each([&](const kube::ObjectKey& key, const kube::ConfigMap& map) {
      lines.push_back(base::cat(key.name, " ", map.meta.resource_version, " ", map.data.get("v"), "\n"));
    });
    std::sort(lines.begin(), lines.end());
    std::string all;
    for (const auto& line : lines) all += line;
    return all;
  }

  std::uint64_t counter(std::string_view name) {
    return metrics_.counter(name, "", {{"component", kube::kConfigMaps.plural}}).value();
  }
  std::string stats() {
    std::string out;
    base::JsonWriter json(out);
    json.begin_object();
    json.member("synced", informer_.synced());
    json.member("objects", static_cast<std::int64_t>(informer_.core().size()));
    json.member("bytes", static_cast<std::int64_t>(informer_.core().bytes()));
    json.member("over_budget", informer_.core().over_budget());
    json.member("resource_version", informer_.core().resource_version());
    json.member("resident_bytes", static_cast<std::int64_t>(resident_bytes()));
    for (const std::string_view name : {"lists", "events", "refused"}) {
      json.member(name, static_cast<std::int64_t>(counter(base::cat("tidemark_informer_", name, "_total"))));
    }
    json.member("watches",
                static_cast<std::int64_t>(kube::request_seconds(metrics_, "watch").snapshot().cumulative.back()));
    json.end_object();
    return out + "\n";
  }

  net::EventLoop& loop_;
  base::Registry& metrics_;
  kube::Interner interner_;
  kube::Informer<kube::ConfigMap> informer_;
  net::Scope scope_;
  Commands commands_;
};

int mirror(const std::vector<std::string>& args) {
  ToolOptions options;
  kube::InformerConfig config;
  config.resource = kube::kConfigMaps;
  std::int64_t budget_bytes = 64 * 1024 * 1024;
  std::int64_t page_size = config.page_size;
  std::int64_t seed = 1;
  base::Flags flags("kube_mirror", "Keeps the ConfigMaps of a namespace in an informer's cache.");
  flags.text("kubeconfig", options.kubeconfig, "kubeconfig file").required();
  flags.text("namespace", options.ns, "namespace to follow");
  flags.integer("seed", seed, 0, INT64_MAX, "seed of the waits between attempts");
  flags.integer("budget-bytes", budget_bytes, 1, INT64_MAX, "budget of the cache");
  flags.integer("page-size", page_size, 1, 10000, "objects per page of a list");
  flags.duration("backoff-max", config.backoff_max, std::chrono::milliseconds(1), std::chrono::hours(1),
                 "longest wait between attempts, without its jitter");
  flags.duration("ping-interval", options.ping_interval, std::chrono::milliseconds(1), std::chrono::hours(1),
                 "HTTP/2: PING after this long without a byte");
  flags.duration("ping-timeout", options.ping_timeout, std::chrono::milliseconds(1), std::chrono::hours(1),
                 "limit to connect, and to answer a PING");
  const auto parsed = flags.parse(args, [](std::string_view) { return std::nullopt; }, nullptr);
  if (!parsed) return give_up(parsed.error());
  config.ns = options.ns;
  config.bytes_max = static_cast<std::size_t>(budget_bytes);
  config.page_size = static_cast<int>(page_size);

  const base::SystemClock clock;
  const base::Log log(clock, {base::LogLevel::kInfo, base::LogFormat::kText, nullptr});
  net::EventLoop loop(clock);
  base::Random random(static_cast<std::uint64_t>(seed));
  base::Registry metrics;
  options.metrics = &metrics;
  auto tool = connect_tool(loop, random.fork(), options);
  if (!tool) return give_up(tool.error());
  Mirror running(loop, *tool->client, log, metrics, random.fork(), std::move(config));
  loop.run();
  return 0;
}

}  // namespace
}  // namespace tidemark::tests

int main(int argc, char** argv) {
  return tidemark::tests::mirror({argv + 1, argv + argc});
}
