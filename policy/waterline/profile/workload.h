// The workload of a pod: the topmost owner that the pod alone identifies.
//
//    ReplicaSet NAME-HASH, the pod's label pod-template-hash: HASH   Deployment NAME
//    ReplicaSet, any other                                           itself
//    Job NAME-DIGITS (CronJob's controller numbers its Jobs)         CronJob NAME
//    StatefulSet, DaemonSet, Job, any other controller               itself
//    no owner, a Node (static pods), a Pod (created by Spark drivers) none
#pragma once

#include <string>
#include <string_view>

namespace tidemark::policy::waterline {

struct Workload {
  std::string ns;
  std::string kind;
  std::string name;

  bool none() const { return kind.empty(); }
  auto operator<=>(const Workload&) const = default;
};

struct PodOwner {
  std::string_view kind;
  std::string_view name;
  std::string_view template_hash;  // the label pod-template-hash; "" if absent
};

Workload workload_of(std::string_view ns, const PodOwner& owner);

std::string workload_text(const Workload& workload);           // "NAMESPACE/KIND/NAME"; "" for none
Workload parse_workload(std::string_view text);                // none if it does not have that form
std::string_view workload_api_version(std::string_view kind);  // of Kubernetes' own kinds; "" of others

}  // namespace tidemark::policy::waterline
