// The measurements of one pass of the sampler, with the names of the report.
//
//   pod, host application   its whole group, with everything in it
//   task of a copilot       in a pod or a host application: a part of that. Elsewhere, all tasks of one source count
//                           as one host application of its name, batch and BE: the manager subtracts the system's
//                           use from its offer, and offline work must not be in it. If a host application has that
//                           name, "copilot NAME"
//
// Refers to the snapshot of tasks that it holds; buffers are reused.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sampler/measured.h"
#include "agent/tasks/task_list.h"
#include "policy/sell/usage/report.h"
#include "policy/sell/usage/usage_history.h"

namespace tidemark::agent {

class Observed {
 public:
  // `tasks`: the same as given to the sampler.
  void take(const Measured& measured, std::shared_ptr<const TaskSnapshot> tasks);

  // Valid until the next take().
  const policy::sell::NodeReadings& readings() const { return readings_; }
  policy::sell::ReportSubjects subjects() const { return {pods_, host_applications_}; }
  // Names of the offline host applications that are not nested in another one: each use once.
  const std::vector<std::string_view>& offline_beside_pods() const { return offline_beside_pods_; }
  const std::shared_ptr<const TaskSnapshot>& tasks() const { return tasks_; }

 private:
  void add_to_source(std::string_view source, const policy::sell::UsageReading& reading);
  void name_sources();

  std::shared_ptr<const TaskSnapshot> tasks_;
  policy::sell::NodeReadings readings_;
  std::vector<policy::sell::NamedReading> pod_readings_;
  std::vector<policy::sell::NamedReading> host_readings_;
  std::vector<policy::sell::NamedReading> source_readings_;
  std::deque<std::string> source_names_;  // of those with the prefixed name
  std::vector<policy::sell::NumaReading> numa_readings_;
  std::vector<policy::sell::ReportedPod> pods_;
  std::vector<policy::sell::ReportedHostApplication> host_applications_;
  std::vector<std::string_view> offline_beside_pods_;
};

}  // namespace tidemark::agent
