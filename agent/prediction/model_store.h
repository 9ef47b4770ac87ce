// What was learned of a node, in a folder: one file a model, named by its key, and put there whole. For a worker: it
// waits for the disk. Nothing is synced: a machine that loses its power may lose a model, which its checksum tells, and
// which is learned again.
#pragma once

#include <cstddef>
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
// Makes the folder where it is missing. Stops at the first that fails. A key that has no file is removed already.
Result<void> store_models(const std::string& folder, std::span<const StoredModel> models,
                          std::span<const std::string> dropped);

}  // namespace tidemark::agent
