// Keeps the status of the node's NodeMetric up to date: adds samples to windows each second, and writes a report at the
// interval of the spec, and at once on a large change (policy/sell/usage/report_due.h). The manager creates the object:
// until it exists, samples are kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/report/observed.h"
#include "agent/report/read_rights.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "net/loop.h"
#include "policy/sell/usage/collect.h"
#include "policy/sell/usage/report_due.h"
#include "policy/sell/usage/usage_history.h"

namespace tidemark::agent {

struct Predicted {
  model::ReportedUsage reclaimable, peak;
};

struct NodeMetricOptions {
  std::string node_name;
  bool write = true;            // false: everything except the write
  bool hot_page_cache = false;  // the kernel reports cold page cache
  bool alone = false;           // with its own API server: no other node uses it
};

class NodeMetricController {
 public:
  NodeMetricController(net::EventLoop& loop, kube::Client& client, kube::Interner& interner, const base::Log& log,
                       base::Registry& metrics, base::Random random, NodeMetricOptions options);

  void start();

  // Call after each pass of the sampler.
  void observe(const Observed& observed, model::Resources capacity);

  // Sets the source of the predicted part of a report; called for each report.
  void predicted_by(std::function<Predicted()> predict) { predict_ = std::move(predict); }

  const policy::sell::UsageHistory& history() const { return history_; }
  const policy::sell::CollectInForce& collect() const { return history_.collect(); }
  std::string not_ready() const;  // "" if it reports, else what is missing

 private:
  void spec_changed(const kube::NodeMetric* metric);
  void attempt(const Observed& observed, const policy::sell::ReportPlan& plan);
  net::Task<void> write(std::string body, policy::sell::ReportedLevels told, policy::sell::ReportWhy why);

  net::EventLoop& loop_;
  kube::Client& client_;
  kube::Interner& interner_;
  base::Log log_;
  base::Registry& metrics_;
  NodeMetricOptions options_;
  ReadRights rights_;
  kube::Informer<kube::NodeMetric> objects_;
  policy::sell::UsageHistory history_;
  policy::sell::WindowScratch scratch_;
  model::NodeMetricReport report_;
  policy::sell::ReportState due_;
  std::optional<policy::sell::ReportOutcome> outcome_;
  std::optional<policy::sell::ReportedLevels> outcome_levels_;
  std::function<Predicted()> predict_;
  bool writing_ = false;
  bool failing_ = false;
  base::Duration spread_;
  base::Gauge& has_object_;
  base::Counter& failed_;
  base::Gauge& last_report_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent
