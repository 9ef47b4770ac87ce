// A plan's reasons as something to read: the one renderer of overcommit plans, for `tidemark explain`, the console and
// logs. Pure: everything shown is in the plan, the snapshot and the strategy it was made from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "model/node.h"
#include "policy/sell/overcommit/overcommit.h"

namespace tidemark::policy::explain {

// Several lines for a terminal, each term of the formula on one.
std::string render_text(const sell::OvercommitPlan& plan, const model::NodeSnapshot& node,
                        const sell::NodeStrategy& strategy);

// The same for programs: {"schema":1,"node":…,"action":…,"reason":{…},"batch-cpu":{terms…},…}.
Json render_json(const sell::OvercommitPlan& plan, const model::NodeSnapshot& node, const sell::NodeStrategy& strategy);

// "publish", "reset" or "hold".
std::string_view action_word(sell::PlanAction action);
// "7800m" and "60344290509 (56.2 GiB)".
std::string amount_text(model::CpuMilli cpu);
std::string amount_text(model::MemoryBytes memory);
// "56.2 GiB": tenths of a unit, truncated: a person must not read more than there is.
std::string binary_text(std::int64_t bytes);

}  // namespace tidemark::policy::explain
