// Reads `tidemark-config`: whether the pool of a node only observes, and which classes of work exist. An unreadable
// text changes nothing. Without one, every pool enforces (drop-in for Koordinator's operator).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "net/loop.h"
#include "net/task.h"
#include "policy/settings/config/parse.h"
#include "policy/waterline/pools.h"

namespace tidemark::yarn_operator {

const model::Pool& pool_of_node(const policy::waterline::TidemarkConfig& config, const kube::Node& node);

using ZonesOf = std::function<policy::waterline::Zones(std::string_view tidemark_config)>;

class PoolModes {
 public:
  PoolModes(const kube::InformerParts& parts, kube::Interner& interner, const std::string& ns, ZonesOf zones,
            std::function<void()> on_change);

  net::Task<void> run() { return maps_.run(); }
  bool synced() const { return maps_.synced(); }
  // Valid once synced.
  model::Mode of(const kube::Node& node);
  bool names_class(std::string_view name);
  std::string pool_of(const kube::Node& node);  // "": no readable settings

 private:
  void read();

  base::Log log_;
  std::string ns_;
  ZonesOf zones_;
  policy::settings::TidemarkState state_;
  bool old_ = true;  // the map changed since it was read
  kube::Informer<kube::ConfigMap> maps_;
};

}  // namespace tidemark::yarn_operator
