// The answers about the platform itself and about YARN's side of the nodes as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "console/view.h"
#include "kube/objects.h"
#include "operate/components.h"
#include "operate/decisions.h"

namespace tidemark::console {

// The certificate that the console itself serves; nullopt: none, on loopback.
struct ServedCertificate {
  std::optional<base::WallTime> until;  // nullopt: it cannot be read
};

// Components, leases, queues of the manager, certificates, how long the API server takes to answer the console, and for
// each kernel family what its agents report.
std::string platform_document(const operate::Components& components, View& view,
                              const std::optional<ServedCertificate>& certificate, base::WallTime now);

// "6.1" of "6.1.0-18-amd64"; the whole text if it does not begin so.
std::string kernel_family(std::string_view release);

// YARN's side of one node, with what each class holds; null if YARN has nothing to do with it.
void write_yarn_of_node(base::JsonWriter& json, const kube::Node& node);

// YARN clusters and their nodes: offered, confirmed, held. `events`: the last ones of the yarn-operator, or why they
// are unknown; they name nodes whose totals another program sets. `leases`: that of the yarn-operator has the states of
// the ResourceManagers, which are unknown if it is not renewed at `now`.
std::string yarn_document(View& view, const Result<std::vector<operate::Decision>>& events,
                          const Result<std::vector<operate::LeaderLease>>& leases, base::WallTime now);

}  // namespace tidemark::console
