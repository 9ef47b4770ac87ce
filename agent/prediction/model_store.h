// What was learned of a node, in a folder: one file a model, named by its key, and put there whole. For a worker: it
// waits for the disk. Nothing is synced: a machine that loses its power may lose a model, which its checksum tells, and
// which is learned again.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/prediction/checkpoint.h"

namespace tidemark::agent {

struct LoadedModels {
  std::vector<policy::ModelCheckpoint> models;
  std::vector<std::string> refused;  // files that hold no model, with why: they stay, and are written over
};
// A folder that is not there has nothing in it.
Result<LoadedModels> load_models(const std::string& folder);

struct StoredModel {
  std::string key;
  std::string bytes;
};
struct StoreOutcome {
  std::vector<std::string> stored;  // keys
  std::optional<Error> error;       // the first of those that could not be stored or removed
};
// Makes the folder where it is missing. One that fails does not keep the others. A key that has no file is removed
// already.
StoreOutcome store_models(const std::string& folder, std::span<const StoredModel> models,
                          std::span<const std::string> dropped);

}  // namespace tidemark::agent
