// Stores the learned models of a node: one file per model, named by its key, written atomically. Blocks on the disk:
// for a worker. Nothing is synced: a power loss may lose a model, which its checksum shows, and which is then learned
// again.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/sell/prediction/checkpoint.h"

namespace tidemark::agent {

struct LoadedModels {
  std::vector<policy::sell::ModelCheckpoint> models;
  std::vector<std::string> refused;  // files without a valid model, with the reason: they stay, and are overwritten
};
// A missing folder counts as empty.
Result<LoadedModels> load_models(const std::string& folder);

struct StoredModel {
  std::string key;
  std::string bytes;
};
struct StoreOutcome {
  std::vector<std::string> stored;  // keys
  std::optional<Error> error;       // the first error of storing or removing
};
// Creates the folder if missing. One failure does not stop the others. A removal of a missing file succeeds.
StoreOutcome store_models(const std::string& folder, std::span<const StoredModel> models,
                          std::span<const std::string> dropped);

}  // namespace tidemark::agent
