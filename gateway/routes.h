// The routing file: to which side runs go, as rules of an operator.
//
//   schema: 1
//   kubernetesPercent: 20
//   kubernetesWaitingMax: 50
//   ownerKeepsPercent: 10      # of the batch capacity of nodes with an owner: runs of other businesses leave it idle
//   yarnWaitMax: 15m           # longest wait of a run for capacity at Kubernetes while its queue at YARN is slower
//   rules:                     # the first pin that applies counts, and every ban
//   - business: ads            # a field that is not given matches every run
//     queue: night             # spark.yarn.queue
//     namePrefix: report-
//     side: kubernetes
//     ban: true                # without it: a pin
//     from: "22:00"            # a window; it may end on the next day
//     to: "07:00"
//     days: [mon, tue]         # on which it begins; every day by default
//     timeZone: Europe/Berlin  # UTC by default
//
// The file is read again after a change. A file that is wrong is logged, and the last good one stays in force.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/result.h"
#include "kube/config.h"
#include "model/time_zone.h"
#include "net/loop.h"
#include "policy/route/side.h"

namespace tidemark::gateway {

using ZoneOf = std::function<Result<model::TimeZone>(const std::string& name)>;

// Errors name the place. The whole file is refused if a part is wrong. `defaults`: what the file does not give.
Result<policy::route::RouteRules> parse_routes(std::string_view yaml, policy::route::RouteRules defaults,
                                               const ZoneOf& zone_of);

// In the form of the file.
Json routes_json(const policy::route::RouteRules& rules);
// Time zones of this machine.
ZoneOf zones_of_machine(kube::Files files);

class RoutesFile {
 public:
  static constexpr base::Duration kReadInterval = std::chrono::seconds(5);

  static Result<std::unique_ptr<RoutesFile>> open(net::EventLoop& loop, const base::Log& log, kube::Files files,
                                                  std::string file, policy::route::RouteRules defaults,
                                                  base::Duration read_interval = kReadInterval);

  const policy::route::RouteRules& rules() const { return rules_; }
  // Called after each change.
  void follow(std::function<void(policy::route::RouteRules)> on_change) { on_change_ = std::move(on_change); }

 private:
  RoutesFile(net::EventLoop& loop, const base::Log& log, kube::Files files, std::string file,
             policy::route::RouteRules defaults, base::Duration read_interval);
  Result<bool> read();  // whether there are new rules
  void read_later();

  net::EventLoop& loop_;
  base::Log log_;
  kube::Files files_;
  const std::string file_;
  const policy::route::RouteRules defaults_;
  const base::Duration read_interval_;
  policy::route::RouteRules rules_;
  std::optional<std::string> text_;  // of the file
  std::function<void(policy::route::RouteRules)> on_change_;
  net::Timer timer_;
};

}  // namespace tidemark::gateway
