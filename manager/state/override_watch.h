// The overrides of the water line in force (policy/state/overrides.h): from the ConfigMap `tidemark-state`, or its
// last good text if it is unreadable. Starts and ends are reported as events, logs and metrics.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/metrics.h"
#include "kube/recorder.h"
#include "net/loop.h"
#include "policy/state/overrides.h"

namespace tidemark::manager {

struct OverrideContext {
  net::EventLoop& loop;
  kube::EventRecorder& recorder;
  base::Registry& metrics;
  std::string config_namespace;
  std::function<bool()> leading;  // events and metrics come from one of several replicas
  std::function<void()>
      on_change;  // time alone changed the overrides in force; the caller of take() knows its own changes
};

class OverrideWatch {
 public:
  OverrideWatch(OverrideContext context, const base::Log& log);

  // What the ConfigMap says now; nullopt where it, or the key, is not there.
  void take(std::optional<std::string_view> text, std::string_view uid);
  // Until the loop runs again; null where nothing is known.
  const policy::state::Overrides* overrides() const { return state_.overrides ? &*state_.overrides : nullptr; }
  bool good() const { return !trouble_; }  // what is stored can be read
  void refresh_metrics();

 private:
  void tell();
  void tell_trouble(const policy::state::OverridesStep& step);
  void arm();
  void look(base::WallTime end);

  OverrideContext context_;
  base::Log log_;
  policy::state::OverridesState state_;
  std::string uid_;
  bool first_ = true;
  std::optional<model::Reason> trouble_;
  policy::state::Overrides told_;
  base::WallTime told_at_;
  std::set<std::string> shown_;  // pools with a series
  net::Timer end_;               // of the one that ends first
};

}  // namespace tidemark::manager
