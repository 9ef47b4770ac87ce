// The pages /metrics/online and /metrics/offline, made for each request from what runs on the node now. A series ends
// with its work, so short-lived tasks leave none behind.
//
//   online    by workload: at most kOnlineWorkloadsMax of a node, those with the largest CPU requests; all other online
//             pods are one workload "other". Jobs and pods without an owner also belong to it, because they end soon.
//   offline   by class and side: at most kOfflineClassesMax classes; the class "other" has the rest
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "agent/sampler/measured.h"
#include "agent/tasks/task_list.h"

namespace tidemark::agent {

inline constexpr std::size_t kOnlineWorkloadsMax = 40;
inline constexpr std::size_t kOfflineClassesMax = 16;
inline constexpr std::string_view kOther = "other";

std::string online_page(const Measured& measured, const TaskSnapshot& tasks);
std::string offline_page(const Measured& measured, const TaskSnapshot& tasks);

}  // namespace tidemark::agent
