// Of one node: what the hour of its pool lets YARN's operator end there for more timely work, as the operator reckons
// (yarn_operator/hour_room.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "yarn_operator/hour_room.h"

namespace tidemark::cli {

struct YarnHour {
  std::string pool;
  std::optional<std::string> granted;  // "30 an hour until …"; nullopt: the operator has no grant there
  std::int64_t preempted_here = 0;     // containers, within the hour
  std::int64_t preempted_in_pool = 0;
  std::int64_t per_node = 0;  // without a grant
  std::int64_t left = 0;
  model::Reason why_none = model::Reason::kBudgetPoolExhausted;  // where nothing is left
};

net::Task<Result<YarnHour>> read_yarn_hour(kube::Client& client, std::string config_namespace, const kube::Node& node,
                                           std::string pool, base::WallTime now, base::Duration limit);

std::string yarn_hour_text(const YarnHour& hour);
Json yarn_hour_json(const YarnHour& hour);

}  // namespace tidemark::cli
