#include "agent/prediction/model_store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "journal/whole_file.h"
#include "policy/sell/prediction/models.h"

namespace tidemark::agent {
namespace {

Result<void> store_one(const std::string& folder, const StoredModel& model) {
  if (!policy::sell::is_model_key(model.key)) {
    return base::fail(ErrorKind::kInternal, "a key that is no file's name: ", model.key);
  }
  TM_TRY_VOID(journal::write_whole(base::cat(folder, "/", model.key), model.bytes));
  return {};
}

}  // namespace

Result<LoadedModels> load_models(const std::string& folder) {
  LoadedModels loaded;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error == std::errc::no_such_file_or_directory) return loaded;
  if (error) return base::fail_errno(error.value(), base::cat("list ", folder));
  std::vector<std::string> names;
  constexpr std::size_t kNamesMax = 2 * policy::sell::kPodModelsMax;
  for (; entries != std::filesystem::directory_iterator() && names.size() < kNamesMax; entries.increment(error)) {
    if (error) return base::fail_errno(error.value(), base::cat("list ", folder));
    std::string name = entries->path().filename().string();
    // A model's name begins with a letter, a digit, '-' or '_' (is_model_key); a dot marks an unfinished file.
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const std::string path = base::cat(folder, "/", name);
    const auto bytes = journal::read_whole(path, policy::sell::kModelCheckpointBytesMax);
    if (!bytes) {
      loaded.refused.push_back(bytes.error().message);
      continue;
    }
    if (!*bytes) continue;  // removed since
    auto model = policy::sell::decode_model(**bytes);
    if (!model) {
      loaded.refused.push_back(base::cat(path, ": ", model.error().message));
    } else if (model->key != name) {
      loaded.refused.push_back(base::cat(path, ": is the model of ", model->key));
    } else {
      loaded.models.push_back(std::move(*model));
    }
  }
  return loaded;
}

StoreOutcome store_models(const std::string& folder, std::span<const StoredModel> models,
                          std::span<const std::string> dropped) {
  StoreOutcome outcome;
  const auto failed = [&](Result<void> done) {
    if (!done && !outcome.error) outcome.error = std::move(done).error();
    return !done;
  };
  if (failed(journal::make_folder(folder))) return outcome;
  for (const StoredModel& model : models) {
    if (!failed(store_one(folder, model))) outcome.stored.push_back(model.key);
  }
  for (const std::string& key : dropped) {
    if (!policy::sell::is_model_key(key)) continue;
    if (auto removed = journal::remove_whole(base::cat(folder, "/", key)); !removed) {
      failed(std::unexpected(std::move(removed).error()));
    }
  }
  return outcome;
}

}  // namespace tidemark::agent
