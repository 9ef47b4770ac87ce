// Kubernetes events about objects, with aggregation: the same event again raises `count` of the one that exists; very
// many alike are folded into one; a budget of an object keeps a flapping one from flooding the server. Best effort: an
// event that cannot be written is counted and dropped, never waited for.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::kube {

struct ObjectReference {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
};

enum class EventSeverity { kNormal, kWarning };

class EventRecorder {
 public:
  static constexpr std::size_t kQueueMax = 1000;  // events not yet sent
  static constexpr int kBurstAnObject = 25;       // then one each kRefill
  static constexpr base::Duration kRefill = std::chrono::minutes(5);

  EventRecorder(net::EventLoop& loop, Writer& writer, base::Log log, base::Registry& metrics, std::string component);
  ~EventRecorder();

  void record(const ObjectReference& about, EventSeverity severity, std::string_view reason, std::string_view message);
  net::Task<void> run();  // sends what was recorded

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark::kube
