// Removes what Tidemark wrote to the cluster, and names what it cannot remove.
//
//   nodes          annotations and the label of ours, conditions, the taint of an oversold node, offer and ratios
//   other objects  the annotations of ours on pods and NodeResourceTopologies, and the offer of zones; NodeSLOs,
//                  NodeMetrics, Recommendations; the finalizer of Spark driver pods that have ended
//   namespace      ConfigMaps, leases, the Secret of the webhooks; and the webhook configurations of the cluster
//
// What Koordinator uses as well stays if `keep_shared` is set. Keys of the user (tidemark.io/pool, tidemark.io/class)
// stay always. Objects that are already clean are not written, so it may be ended and run again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::operate {

struct UninstallOptions {
  bool dry_run = false;
  bool keep_shared = false;  // Koordinator stays on the cluster
  std::string config_namespace = "koordinator-system";
  std::int64_t in_flight = 20;  // writes at the same time
  base::Duration limit = std::chrono::seconds(30);
};

// One kind of object.
struct UninstalledKind {
  std::string kind;
  std::size_t found = 0;              // objects with something of ours
  std::size_t done = 0;               // cleaned or deleted; of a dry run 0
  std::vector<std::string> problems;  // "NAME: why", the first few
};

struct UninstallReport {
  bool dry_run = false;
  std::vector<UninstalledKind> kinds;
  // What the API server cannot undo: kernel files, totals of ResourceManagers.
  std::vector<std::string> left;
  bool complete() const;
};

// kDenied if a manager still leads, or pods of Tidemark run: they would write everything again.
net::Task<Result<UninstallReport>> uninstall(net::EventLoop& loop, kube::Client& client, UninstallOptions options);

}  // namespace tidemark::operate
