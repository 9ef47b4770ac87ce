// Submission to Kubernetes by Spark Operator: the gateway creates a SparkApplication, and the operator its driver pod.
//
//   create   the object, by the name of the attempt: 409 means that it exists
//   remove   delete it; its finalizer keeps its name, so that no late creation takes it
//   release  remove the finalizer, and let the operator delete it a day later
//
// The object is not changed between its creation and the end of its driver. A change while the operator runs
// spark-submit makes it submit again and report a failure of a driver that runs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "gateway/driver_objects.h"
#include "gateway/operator_application.h"
#include "gateway/side_client.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "net/loop.h"
#include "policy/route/ends.h"

namespace tidemark::gateway {

class SparkOperator {
 public:
  SparkOperator(net::EventLoop& loop, kube::Client& client, base::Log log, base::Registry& metrics, base::Random random,
                SideOwner owner);

  void start();         // watches until destroyed
  bool synced() const;  // the first list of objects is in
  // Whether the API server has this kind of object.
  net::Task<Result<bool>> is_served(std::string ns);
  // `uid` gets the object's if it is accepted.
  net::Task<Submission> create(DriverNames names, Json object, std::string& uid);
  // The state of a run that has no driver pod; no I/O.
  policy::route::Observation look(const DriverNames& names) const;
  net::Task<Result<void>> remove(DriverNames names);
  net::Task<Result<void>> release(DriverNames names);

 private:
  net::Task<Result<std::optional<SparkApplicationState>>> read(std::string ns, std::string name);
  void on_object(const SparkApplicationState* before, const SparkApplicationState* after);
  net::Task<void> remove_if_stray(std::int64_t run, SparkApplicationState object);

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Log log_;
  const SideOwner owner_;
  kube::Informer<SparkApplicationState> objects_;
  std::set<std::string> straying_;  // objects that are being examined or removed
  net::Scope scope_;
};

}  // namespace tidemark::gateway
