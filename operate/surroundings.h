// What offers rest on beside the node itself, its pods and its reports, as far as it is stored or can be seen: profiles
// of workloads, and batch pods that wait for room. For commands that decide as a manager would.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/profiles/profile_reader.h"
#include "manager/settings/revision.h"
#include "net/loop.h"
#include "policy/sell/ledger/books.h"
#include "policy/sell/offer/offer.h"
#include "policy/waterline/pools.h"

namespace tidemark::operate {

struct Surroundings {
  std::optional<manager::StoredProfiles> profiles;
  std::size_t waiting_pods = 0;    // batch pods that are not bound
  policy::sell::Waiting waiting;   // of those, as if they had waited long enough to count
  std::vector<std::string> notes;  // what could not be read

  // What a workload uses at this hour; it refers to this object.
  manager::ExpectedUse expected(base::WallTime now) const;
};

// What the settings do not need is not read. An error of the server is a note.
struct SurroundingsWanted {
  bool profiles = false;
  bool waiting = false;
};
SurroundingsWanted wanted_by(const policy::waterline::TidemarkConfig& config, const model::Pool& pool);
SurroundingsWanted wanted_by(const policy::waterline::TidemarkConfig& config);  // by any of its pools
net::Task<Surroundings> read_surroundings(net::EventLoop& loop, kube::Client& client, std::string config_namespace,
                                          base::Duration limit, SurroundingsWanted wanted,
                                          std::vector<model::WorkClass> classes);

// What a manager that runs remembers of the node: that it offers what the node carries, since a while, and that reports
// come, where the last one is young.
policy::sell::OfferState as_a_manager_remembers(const kube::Node& node, const kube::NodeMetric* metric,
                                                const base::Clock& clock);
// Growth at once: what an offer comes to in the end, the dead band aside.
manager::Revision without_slew(manager::Revision revision);

}  // namespace tidemark::operate
