// Online services: workloads with their pods, their use now, and their use by hour of the day.
//
//   pods    by the API server
//   now     by the agents' reports (NodeMetric)
//   hours   by the profiles that the manager stores, if it learns (profiles.learn of tidemark-config)
//
// It lists all pods and reports: for a page that a person opens, not for a loop. A pod takes about 150 bytes while it
// is listed and 120 afterwards, so 300,000 of them stay below 45 MiB.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/intern.h"
#include "model/resources.h"
#include "net/loop.h"
#include "policy/waterline/profile/usage_profile.h"

namespace tidemark::operate {

struct OnlinePod {
  kube::Text name, node;  // its namespace is that of the workload
  model::Resources request;
  std::optional<model::Resources> used;  // nullopt: no report has it
};

struct OnlineWorkload {
  std::string_view ns() const { return std::string_view(name).substr(0, name.find('/')); }

  std::string name;      // "shop/Deployment/web"
  std::string business;  // the label of its pods; "": they have none
  std::int64_t pods = 0;
  std::int64_t reported = 0;  // pods that a report has
  model::Resources request;
  model::Resources used;  // of the reported pods
  // Of one pod, by hour of the day in UTC; nullopt: not seen in the last seven days.
  std::array<std::optional<policy::waterline::UsageAt>, policy::waterline::kHoursADay> hours;
  std::int64_t hours_seen = 0;     // of the last 7 × 24
  std::vector<OnlinePod> members;  // in no order
};

struct OnlineServices {
  std::vector<OnlineWorkload> workloads;  // by name
  std::vector<std::string> notes;         // what could not be read
};

// An error if the pods cannot be listed. `limit` is for one answer of the API server.
net::Task<Result<OnlineServices>> read_online(net::EventLoop& loop, kube::Client& client, std::string config_namespace,
                                              base::Duration limit);

}  // namespace tidemark::operate
