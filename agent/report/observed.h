// What one pass of the sampler measured, as windows take it and as a report names it.
//
//   pod, host application   all of its group, with what lies in it
//   task of a copilot       in a pod or a host application: a part of that. Elsewhere, all of one source together count
//                           as one host application of its name, batch and BE: offline work must not pass for the
//                           system's, which the manager takes off what it sells. Where a host application has that
//                           name, "copilot NAME"
//
// Refers to the snapshot of tasks that it holds; buffers are used again.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sampler/measured.h"
#include "agent/tasks/task_list.h"
#include "policy/usage/report.h"
#include "policy/usage/usage_history.h"

namespace tidemark::agent {

class Observed {
 public:
  // `tasks` are those that the sampler was given.
  void take(const Measured& measured, std::shared_ptr<const TaskSnapshot> tasks);

  // Until the next take().
  const policy::NodeReadings& readings() const { return readings_; }
  policy::ReportSubjects subjects() const { return {pods_, host_applications_}; }
  // Names of the host applications that are offline work and lie in no other that is: each use once.
  const std::vector<std::string_view>& offline_beside_pods() const { return offline_beside_pods_; }
  const std::shared_ptr<const TaskSnapshot>& tasks() const { return tasks_; }

 private:
  void add_to_source(std::string_view source, const policy::UsageReading& reading);
  void name_sources();

  std::shared_ptr<const TaskSnapshot> tasks_;
  policy::NodeReadings readings_;
  std::vector<policy::NamedReading> pod_readings_;
  std::vector<policy::NamedReading> host_readings_;
  std::vector<policy::NamedReading> source_readings_;
  std::deque<std::string> source_names_;  // of those that go by another one
  std::vector<policy::NumaReading> numa_readings_;
  std::vector<policy::ReportedPod> pods_;
  std::vector<policy::ReportedHostApplication> host_applications_;
  std::vector<std::string_view> offline_beside_pods_;
};

}  // namespace tidemark::agent
