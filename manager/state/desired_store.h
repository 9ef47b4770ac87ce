// The ConfigMap `tidemark-state` as bytes: what was ordered for the cluster and for pools, so that nodes that join
// later inherit it (policy/state/desired.h), and where the water line is overridden (policy/state/overrides.h). Each
// has a key of its own, and a write of one leaves the other as it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "net/loop.h"
#include "policy/state/desired.h"

namespace tidemark::manager {

struct StoredText {
  std::string revision;                  // empty: the ConfigMap does not exist
  std::optional<std::string> text;       // nullopt: it lacks the key
  std::optional<std::string> overrides;  // the same of the overrides of the water line (policy/state/overrides.h)
};

Result<kube::ConfigMap> decode_state_map(std::string_view bytes, kube::Interner& interner);
net::Task<Result<StoredText>> read_desired(kube::Reader& reader, std::string config_namespace, base::Duration limit);
// Writes over the revision that was read: kConflict or kAlreadyExists if another writer was faster.
net::Task<Result<void>> write_desired(kube::Writer& writer, std::string config_namespace, std::string revision,
                                      std::string text, base::Duration limit);
net::Task<Result<void>> write_overrides(kube::Writer& writer, std::string config_namespace, std::string revision,
                                        std::string text, base::Duration limit);

}  // namespace tidemark::manager
