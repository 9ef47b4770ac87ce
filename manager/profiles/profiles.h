// Learns what workloads use, from the NodeMetrics that the manager follows anyway: each node once in `sampleEvery`, at
// a moment of its own, so that the work is spread. Every replica learns; the leader stores (manager/history).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/capacity/pod_projection.h"
#include "manager/history/store.h"
#include "manager/leadership.h"
#include "manager/profiles/profile_book.h"
#include "net/loop.h"
#include "policy/waterline/profile/settings.h"

namespace tidemark::manager {

struct ProfilesContext {
  net::EventLoop& loop;
  kube::Client& client;
  kube::EventRecorder& recorder;
  base::Registry& metrics;
  Leadership leadership;
  const kube::Informer<PodProjection>& pods;  // with the index kPodsByNode
  std::function<const policy::waterline::ProfileSettings&()> settings;
  std::string config_namespace;
  base::Duration write_limit;
};

// Whether a report is the one of its interval that is sampled: once in `every`, by the report's own time, at a moment
// that the node's name says. The first that is seen of a node always is.
bool is_sampled(const kube::NodeMetric* before, const kube::NodeMetric& after, base::Duration every);

class Profiles {
 public:
  Profiles(ProfilesContext context, const base::Log& log);

  void start();  // until destroyed
  void look() { store_.look(); }
  void metric_changed(const kube::NodeMetric* before, const kube::NodeMetric* after);
  // What a pod of the workload uses at this hour of the day: the p95 of its profile.
  std::optional<model::Resources> expected(std::string_view workload) const;
  const ProfileBook& book() const { return book_; }
  bool all_read() const { return store_.read(); }  // what was stored is in the book

 private:
  bool learns() const { return context_.settings().learn; }
  net::Task<void> sweep();
  HistoryOwner owner();

  ProfilesContext context_;
  ProfileBook book_;
  std::vector<std::pair<model::PodId, const kube::Text*>> on_node_;  // scratch
  base::Counter& samples_;
  base::Gauge& workloads_;
  base::Gauge& turned_away_;
  HistoryStore store_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
