// Renders CPU priorities on a node and the shares of offline work, as text and as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "policy/priority/class_weights.h"
#include "policy/priority/cpu_priority.h"

namespace tidemark::policy {

std::string render_text(const PriorityPlan& plan);
Json render_json(const PriorityPlan& plan);

std::string render_text(const ClassWeightsPlan& plan);
Json render_json(const ClassWeightsPlan& plan);

}  // namespace tidemark::policy
