// `tidemark doctor yarn`: problems at the ResourceManagers of Hadoop's files. Asks only them, and writes nothing.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "base/result.h"
#include "net/loop.h"
#include "net/worker.h"
#include "policy/explain/finding_form.h"
#include "yarn_operator/clusters.h"

namespace tidemark::cli {

struct YarnDoctorOptions {
  std::vector<yarn_operator::YarnCluster> clusters;
  std::vector<Error> invalid;                       // files that stop their own cluster
  net::WorkerPool* workers = nullptr;               // for their names
  base::Duration limit = std::chrono::seconds(30);  // for one answer
};

struct YarnDoctorReport {
  std::vector<policy::explain::FormedFinding> findings;
  policy::explain::Severity worst() const;
};

net::Task<YarnDoctorReport> examine_yarn(net::EventLoop& loop, base::Random random, YarnDoctorOptions options);

// {"severity":…,"findings":[…]}
Json render_json(const YarnDoctorReport& report);

}  // namespace tidemark::cli
