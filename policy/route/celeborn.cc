#include "policy/route/celeborn.h"

#include <array>

#include "base/text.h"

namespace tidemark::policy::route {
namespace {

using base::cat;

constexpr std::string_view kManager = "org.apache.spark.shuffle.celeborn.SparkShuffleManager";
constexpr std::string_view kManagerKey = "spark.shuffle.manager";

// Which Spark a line of Celeborn serves, as its documentation says. Before 0.6 it has no REST API for its health.
struct Served {
  Version from;  // of Celeborn, inclusive
  Version spark_from;
  Version spark_until;  // exclusive
};
constexpr std::array<Served, 2> kServed = {{
    {{.major = 0, .minor = 6, .patch = 0}, {.major = 3, .minor = 0, .patch = 0}, {.major = 4, .minor = 1, .patch = 0}},
    {{.major = 0, .minor = 7, .patch = 0}, {.major = 3, .minor = 0, .patch = 0}, {.major = 4, .minor = 3, .patch = 0}},
}};
constexpr Version kIntegrityCheck{.major = 0, .minor = 6, .patch = 1};
constexpr Version kShuffleTracking{.major = 3, .minor = 4, .patch = 0};
constexpr Version kDataIo{.major = 3, .minor = 5, .patch = 0};

std::string text_of(const Version& version) {
  return cat(version.major, ".", version.minor, ".", version.patch);
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  text = text.substr(0, text.find('-'));
  const auto parts = base::split(text, '.');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  std::array<std::int64_t, 3> numbers{};
  for (std::size_t at = 0; at < parts.size(); ++at) {
    const auto number = base::parse_int(parts[at]);
    if (!number || *number < 0) return std::nullopt;
    numbers[at] = *number;
  }
  return Version{.major = numbers[0], .minor = numbers[1], .patch = numbers[2]};
}

std::string not_for_celeborn(const Version& spark, const CelebornService& service) {
  const Served* line = nullptr;
  for (const Served& each : kServed) {
    if (service.version >= each.from) line = &each;
  }
  if (line == nullptr) return cat("Celeborn ", text_of(service.version), " has no health API; use 0.6 or later");
  if (spark < line->spark_from || spark >= line->spark_until) {
    return cat("Celeborn ", text_of(service.version), " does not serve Spark ", text_of(spark));
  }
  return "";
}

std::string shuffles_elsewhere(const std::map<std::string, std::string>& conf) {
  const auto manager = conf.find(std::string(kManagerKey));
  if (manager != conf.end() && manager->second != kManager) return cat(kManagerKey, "=", manager->second);
  constexpr std::string_view kFallback = "spark.celeborn.client.spark.shuffle.fallback.policy";
  const auto fallback = conf.find(std::string(kFallback));
  if (fallback != conf.end() && fallback->second != "NEVER") return cat(kFallback, "=", fallback->second);
  return "";
}

std::map<std::string, std::string> celeborn_settings(const Version& spark, const CelebornService& service,
                                                     const CelebornWorkers& workers, std::string_view tenant,
                                                     std::string_view user, bool dynamic_allocation) {
  std::map<std::string, std::string> out = {
      {std::string(kManagerKey), std::string(kManager)},
      {"spark.serializer", "org.apache.spark.serializer.KryoSerializer"},
      {"spark.shuffle.service.enabled", "false"},
      {"spark.sql.adaptive.localShuffleReader.enabled", "false"},
      {"spark.celeborn.master.endpoints", service.endpoints},
      {"spark.celeborn.client.push.replicate.enabled", workers.usable >= kReplicationWorkersMin ? "true" : "false"},
      {"spark.celeborn.client.spark.shuffle.fallback.policy", "NEVER"},
      {"spark.celeborn.client.spark.stageRerun.enabled", "true"},
      {"spark.celeborn.identity.user-specific.tenant", std::string(tenant)},
      {"spark.celeborn.identity.user-specific.userName", std::string(user)},
  };
  if (service.version >= kIntegrityCheck) out["spark.celeborn.client.shuffle.integrityCheck.enabled"] = "true";
  if (dynamic_allocation && spark >= kShuffleTracking) {
    out["spark.dynamicAllocation.shuffleTracking.enabled"] = "false";
  }
  if (spark >= kDataIo) {
    out["spark.shuffle.sort.io.plugin.class"] = "org.apache.spark.shuffle.celeborn.CelebornShuffleDataIO";
  }
  return out;
}

}  // namespace tidemark::policy::route
