// What of the settings the forecast and the memory of least offers go by.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/informer.h"
#include "kube/objects.h"
#include "manager/forecast/forecast_controller.h"
#include "manager/settings/settings.h"

namespace tidemark::manager {

// Of each pool with a calendar, as the node of it has it that comes first by name.
std::vector<ForecastPool> forecast_pools(const kube::Informer<kube::Node>& nodes, const Settings& settings);

// Whether the offers of any pool are moved, by any of the settings in force.
bool has_motion(const Settings& settings);

}  // namespace tidemark::manager
