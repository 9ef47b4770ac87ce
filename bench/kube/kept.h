// What a kube::Pod keeps, as one line of text a pod, so that it can be compared with what client-go has of the same pod
// (bench/peer/kube/main.go writes the same form).
//
//   namespace name uid resourceVersion created deleted ownerKind ownerName labels nodeName schedulerName priority phase
//   qosClass ready hostNetwork containers initContainers overhead podRequests podLimits statuses started
//
// The columns are separated by tabs. What is absent is "-" where it is a time or a number and empty elsewhere.
//   times        seconds since 1970
//   labels       key=value, sorted, joined by ","
//   ready        the Ready condition: True, False or Unknown; Unknown also where there is none
//   amounts      name=amount, sorted, joined by ","; cpu in milli-cores, all else in whole units, rounded up
//   containers   name{requests}{limits}B joined by ";", in their order; B: restartPolicy is Always
//   statuses     name:restarts:ready:started:init joined by ";", sorted
// owner is the controlling one, the first where none controls.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "kube/objects.h"

namespace tidemark::bench {

// All labels, no annotations, containers with their resources, statuses.
kube::PodFields kept_fields();

std::string kept_line(const kube::Pod& pod);

// Sorted, a line each.
Result<void> write_kept(const std::string& path, std::vector<std::string> lines);

}  // namespace tidemark::bench
