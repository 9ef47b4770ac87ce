// The Node and the NodeSLO of the agent's node. It watches them, and saves them for the next start, which uses them
// until the API server answers.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent/protect/kept_objects.h"
#include "agent/report/read_rights.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "net/loop.h"

namespace tidemark::agent {

class OwnObjects {
 public:
  struct Config {
    std::string node_name;
    std::string run_dir;
    // The saved Node at the start, then each change. A deleted Node changes nothing, because a recreated one is the
    // same machine.
    std::function<void(const kube::Node&, bool saved)> on_node;
    std::function<void(const kube::NodeSlo*)> on_node_slo;  // null: there is no NodeSLO
  };
  OwnObjects(net::EventLoop& loop, kube::Client& client, kube::Interner& interner, const base::Log& log,
             base::Registry& metrics, base::Random random, Config config);

  void start();  // until destroyed
  bool synced() const { return node_.synced(); }
  const kube::Node* node() const { return node_.find({"", config_.node_name}); }  // null: unknown or absent
  const std::string& missing_right() const { return rights_.missing(); }          // to the NodeSLO; "": none

 private:
  void keep(KeptObject what, std::string_view bytes);
  void use_saved();
  void use_node_slo(const kube::NodeSlo* slo);
  net::Task<void> report_absent_node_slo();

  base::Log log_;
  Config config_;
  kube::Interner& interner_;
  KeptObjects kept_;
  kube::Informer<kube::Node> node_;
  ReadRights rights_;
  kube::Informer<kube::NodeSlo> node_slo_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent
