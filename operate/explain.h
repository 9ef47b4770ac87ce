// Why a node offers what it offers: every term of the formulas, the settings and orders in force, and the objects that
// the numbers come from. Decided by the manager's own code from what the API server has now.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "kube/client.h"
#include "manager/capacity/decide.h"
#include "manager/settings/effective.h"
#include "manager/settings/revision.h"
#include "model/resources.h"
#include "net/loop.h"
#include "policy/explain/grounds_text.h"
#include "policy/explain/offer_text.h"
#include "policy/explain/sources_text.h"
#include "policy/sell/offer/offer.h"
#include "policy/sell/overcommit/plugins.h"

namespace tidemark::operate {

// What only the manager remembers of a node, read from its journal.
struct Remembered {
  policy::sell::OfferState state;  // as if the time had not passed in which the manager could get no reports
  base::Duration unheard;          // that time
  std::optional<model::Resources> least_ever;
  policy::sell::LastEvicted evicted;
  base::MonotonicTime now;  // of the clock that these are of
  base::WallTime decided;
  std::string who;  // the manager and the time, as text
};

struct ExplainQuestion {
  std::string node;
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  manager::ZonesOf zones = [](std::string_view) { return policy::waterline::Zones(); };
  policy::sell::PluginSet plugins;  // what the manager runs with
  std::string journal;              // the directory that `remember` reads, for the list of sources
  std::function<Result<Remembered>(base::WallTime now)> remember;  // empty: the decision is that of a new manager
  base::Duration limit = std::chrono::seconds(30);                 // for one answer of the API server
};

struct Explanation {
  std::shared_ptr<const manager::EffectiveSettings> settings;  // parts of the decision point into them
  manager::NodeDecision decision;
  policy::explain::Grounds grounds;
  std::vector<policy::explain::Source> sources;
  std::vector<std::string> notes;  // what could not be read, and how to read the numbers

  // The plan in force. Of a node that is off or draining: the plan if it were on.
  const policy::sell::OvercommitPlan& shown() const;
  policy::explain::OfferNames names() const;  // valid as long as this
};

// kNotFound if there is no such node.
net::Task<Result<Explanation>> explain_node(net::EventLoop& loop, kube::Client& client, ExplainQuestion question);

// As `tidemark explain node -o json` prints it.
Json render_json(const Explanation& explanation);

}  // namespace tidemark::operate
