#include "main/hadoop_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "kube/config.h"
#include "main/process.h"

namespace tidemark::main {
namespace {

Result<std::vector<std::string>> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (!open) return base::fail_errno(errno, base::cat("open ", folder));
  std::vector<std::string> names;
  while (const dirent* entry = readdir(open.get())) names.emplace_back(entry->d_name);
  return names;
}

// As Koordinator does: the user of this process is the real user; the effective user is empty.
hadoop::Identity caller_of(const std::string& user) {
  if (!user.empty()) return {.real_user = "", .effective_user = user};
  const std::string mine = environment_or_empty("USER");
  return {.real_user = mine.empty() ? "root" : mine, .effective_user = ""};
}

}  // namespace

yarn_operator::HadoopFolder hadoop_folder(std::string path) {
  return {std::move(path), names_in, kube::system_files().read,
          [](const std::string& name) -> std::optional<std::string> {
            const char* value = getenv(name.c_str());
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          }};
}

Result<std::vector<yarn_operator::YarnCluster>> clusters_in(const std::string& folder, const std::string& user,
                                                            std::vector<Error>* invalid) {
  return yarn_operator::read_clusters(hadoop_folder(folder), caller_of(user), invalid);
}

Result<std::vector<yarn_operator::YarnCluster>> clusters_if_told(const yarn_operator::YarnOptions& options,
                                                                 std::vector<Error>* invalid) {
  const std::string folder =
      options.hadoop_conf_dir.empty() ? environment_or_empty("HADOOP_CONF_DIR") : options.hadoop_conf_dir;
  if (folder.empty()) return std::vector<yarn_operator::YarnCluster>();
  return clusters_in(folder, options.user, invalid);
}

}  // namespace tidemark::main
