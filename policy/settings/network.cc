#include "policy/settings/network.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/quantity.h"
#include "policy/settings/walk.h"

namespace tidemark::policy::settings {
namespace {

using base::cat;
using model::Quantity;
using model::Reason;

constexpr std::string_view kClasses[] = {"lsrClass", "lsClass", "beClass"};
constexpr std::int64_t kWhole = 100;  // per cent

struct Sums {
  std::int64_t shares = 0;
  std::int64_t amounts = 0;
  std::int64_t both() const {
    std::int64_t sum = 0;
    return __builtin_add_overflow(shares, amounts, &sum) ? INT64_MAX : sum;
  }
};

struct Requests {
  Sums ingress;
  Sums egress;
  bool has_share = false;
  bool has_amount = false;
};

void add(std::int64_t& sum, std::int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = INT64_MAX;
}

void collect(const Json& network, std::string_view name, Sums& sums, Requests& requests) {
  const Json* value = settings_member(network, name);
  if (value == nullptr) return;
  if (value->is_int()) {
    requests.has_share = true;
    add(sums.shares, value->as_int());
  } else if (value->is_string()) {
    requests.has_amount = true;
    if (const auto amount = Quantity::parse(value->as_string())) add(sums.amounts, amount->scaled_value_saturated(0));
  }
}

Requests requests_of(const Json& strategy) {
  Requests requests;
  for (const auto name : kClasses) {
    const Json* of_class = settings_member(strategy, name);
    const Json* network = of_class == nullptr ? nullptr : settings_member(*of_class, "networkQOS");
    if (network == nullptr) continue;
    collect(*network, "ingressRequest", requests.ingress, requests);
    collect(*network, "egressRequest", requests.egress, requests);
  }
  return requests;
}

std::int64_t bandwidth_in(const Json& strategy) {
  const Json* value = settings_member(strategy, "totalNetworkBandwidth");
  if (value == nullptr) return 0;
  const auto amount = Quantity::from_json(*value);
  return amount ? amount->scaled_value_saturated(0) : 0;
}

const Json::Array& strategies_of(const Json& document) {
  static const Json::Array kNone;
  const Json* list = settings_member(document, "nodeStrategies");
  return list != nullptr && list->is_array() ? list->as_array() : kNone;
}

// The system-config of this node strategy of resource-qos-config; nullopt if there is none.
std::optional<std::int64_t> bandwidth_for(const Json* selector, const Json& system) {
  const Json* cluster = settings_member(system, "clusterStrategy");
  const auto& strategies = strategies_of(system);
  if (strategies.empty() && cluster != nullptr) return bandwidth_in(*cluster);
  for (const Json& each : strategies) {
    const Json* other = settings_member(each, "nodeSelector");
    if (selector != nullptr && other != nullptr && *selector == *other) return bandwidth_in(each);
  }
  return std::nullopt;
}

class Checker {
 public:
  explicit Checker(SettingsReport& report) : report_(report) {}

  void strategy(const Json& strategy, const std::string& place, std::optional<std::int64_t> bandwidth) {
    const Requests requests = requests_of(strategy);
    if (requests.has_share && requests.has_amount) {
      return report_.error(Reason::kSettingsInvalid, place, "network requests as shares and as amounts",
                           "one form for all requests of a strategy");
    }
    const bool raw = report_.parity() == model::Profile::kKoordinator;
    direction(place, "ingressRequest", requests.ingress, bandwidth, raw);
    direction(place, "egressRequest", requests.egress, bandwidth, raw);
  }

 private:
  void direction(const std::string& place, std::string_view name, const Sums& sums,
                 std::optional<std::int64_t> bandwidth, bool raw) {
    const std::int64_t shares = sums.shares;
    if (shares > kWhole) {
      return report_.error(Reason::kSettingsInvalid, place,
                           cat(name, " of ", shares, " in sum over lsrClass, lsClass, beClass"),
                           cat("at most ", kWhole));
    }
    if (!bandwidth || (!raw && *bandwidth <= 0)) return;
    const std::int64_t amounts = raw ? sums.both() : sums.amounts;
    if (amounts > *bandwidth) {
      report_.error(Reason::kSettingsInvalid, place,
                    cat(name, " of ", amounts, " in sum over lsrClass, lsClass, beClass"),
                    cat("at most totalNetworkBandwidth of system-config, which is ", *bandwidth));
    }
  }

  SettingsReport& report_;
};

}  // namespace

void check_network(const Json& qos, const Json& system, SettingsReport& report) {
  Checker checker(report);
  const bool raw = report.parity() == model::Profile::kKoordinator;
  if (const Json* cluster = settings_member(qos, "clusterStrategy")) {
    const Json* there = settings_member(system, "clusterStrategy");
    std::optional<std::int64_t> bandwidth;
    if (there != nullptr) bandwidth = bandwidth_in(*there);
    checker.strategy(*cluster, "clusterStrategy", bandwidth);
  }
  const auto& strategies = strategies_of(qos);
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    auto bandwidth = bandwidth_for(settings_member(strategies[i], "nodeSelector"), system);
    if (!bandwidth && raw) bandwidth = 0;
    checker.strategy(strategies[i], cat("nodeStrategies[", i, "]"), bandwidth);
  }
}

}  // namespace tidemark::policy::settings
