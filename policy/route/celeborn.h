// The settings of a Spark job whose shuffle data goes to Celeborn, and whether the service is healthy.
//
// On nodes that serve online traffic, shuffle data on the local disk is lost with each evicted executor, and fills the
// disk of the node. So Spark never falls back to it by itself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark::policy::route {

struct Version {
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::int64_t patch = 0;
  auto operator<=>(const Version&) const = default;
};
std::optional<Version> parse_version(std::string_view text);  // "3.5.9", "4.0", "0.6.0-SNAPSHOT"

struct CelebornService {
  std::string endpoints;  // of its masters: host:port, with commas
  Version version{.major = 0, .minor = 6, .patch = 0};
  bool operator==(const CelebornService&) const = default;
};

struct CelebornWorkers {
  std::int64_t usable = 0;  // registered, and neither lost nor excluded
  bool operator==(const CelebornWorkers&) const = default;
};
inline constexpr std::int64_t kReplicationWorkersMin = 2;

// Empty if this service serves this Spark, else the reason.
std::string not_for_celeborn(const Version& spark, const CelebornService& service);
// A property of the job that moves its shuffle data elsewhere; "" if there is none.
std::string shuffles_elsewhere(const std::map<std::string, std::string>& conf);

// The properties to add. The service counts the job against the quota of this tenant and user.
std::map<std::string, std::string> celeborn_settings(const Version& spark, const CelebornService& service,
                                                     const CelebornWorkers& workers, std::string_view tenant,
                                                     std::string_view user, bool dynamic_allocation);

}  // namespace tidemark::policy::route
