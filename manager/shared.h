// What the parts of one manager share. The manager owns all of it, and it outlives the parts.
#pragma once

#include "base/log.h"
#include "base/metrics.h"
#include "kube/client.h"
#include "kube/intern.h"
#include "kube/recorder.h"
#include "net/loop.h"

namespace tidemark::manager {

struct Shared {
  net::EventLoop& loop;
  kube::Reader& reader;
  kube::Watcher& watcher;
  kube::Writer& writer;
  kube::EventRecorder& recorder;
  kube::Interner& interner;
  const base::Log& log;
  base::Registry& metrics;
};

}  // namespace tidemark::manager
