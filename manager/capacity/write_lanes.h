// The API server by two budgets. What was lost or overwritten goes ahead: however long the line of routine writes is, a
// repair does not wait in it.
#pragma once

#include "kube/client.h"

namespace tidemark::manager {

struct Lane {
  kube::Reader& reader;
  kube::Writer& writer;
};

struct WriteLanes {
  explicit WriteLanes(kube::Client& client) : routine{client, client}, ahead{client.ahead(), client.ahead()} {}
  const Lane& of(bool repair) const { return repair ? ahead : routine; }

  Lane routine;
  Lane ahead;
};

}  // namespace tidemark::manager
