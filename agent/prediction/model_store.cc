#include "agent/prediction/model_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "policy/prediction/models.h"

namespace tidemark::agent {
namespace {

// A model begins with a letter, a digit, '-' or '_' (is_model_key): what begins with a dot is ours alone.
constexpr const char* kBeingWritten = ".being-written";

Result<std::string> read_whole(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return base::fail_errno(errno, base::cat("open ", path));
  std::string bytes(policy::kModelCheckpointBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count = ::read(fd.get(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::fail_errno(errno, base::cat("read ", path));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size == bytes.size()) return base::fail(ErrorKind::kInvalid, path, ": longer than a model can be");
  bytes.resize(size);
  return bytes;
}

Result<void> write_whole(const std::string& path, std::string_view bytes) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return base::fail_errno(errno, base::cat("open ", path));
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return base::fail_errno(count < 0 ? errno : ENOSPC, base::cat("write ", path));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
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
  constexpr std::size_t kNamesMax = 2 * policy::kPodModelsMax;
  for (; entries != std::filesystem::directory_iterator() && names.size() < kNamesMax; entries.increment(error)) {
    if (error) return base::fail_errno(error.value(), base::cat("list ", folder));
    std::string name = entries->path().filename().string();
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const std::string path = base::cat(folder, "/", name);
    const auto bytes = read_whole(path);
    if (!bytes) {
      loaded.refused.push_back(bytes.error().message);
      continue;
    }
    auto model = policy::decode_model(*bytes);
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

Result<void> store_models(const std::string& folder, std::span<const StoredModel> models,
                          std::span<const std::string> dropped) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return base::fail_errno(error.value(), base::cat("make ", folder));
  const std::string being_written = base::cat(folder, "/", kBeingWritten);
  for (const StoredModel& model : models) {
    if (!policy::is_model_key(model.key)) {
      return base::fail(ErrorKind::kInternal, "a key that is no file's name: ", model.key);
    }
    TM_TRY_VOID(write_whole(being_written, model.bytes));
    const std::string path = base::cat(folder, "/", model.key);
    if (std::rename(being_written.c_str(), path.c_str()) != 0) {
      return base::fail_errno(errno, base::cat("rename to ", path));
    }
  }
  for (const std::string& key : dropped) {
    if (!policy::is_model_key(key)) continue;
    const std::string path = base::cat(folder, "/", key);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return base::fail_errno(errno, base::cat("remove ", path));
  }
  return {};
}

}  // namespace tidemark::agent
