#include "yarn_operator/clusters.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "hadoop/yarn_site.h"
#include "policy/waterline/form.h"

namespace tidemark::yarn_operator {
namespace {

constexpr std::string_view kSite = "yarn-site.xml";

// Hadoop's order: a later file overrides. Only the last file is required.
constexpr std::string_view kFiles[] = {"core-default.xml", "core-site.xml", "yarn-default.xml", kSite};

Result<void> read_class(const hadoop::Site& site, YarnCluster& cluster) {
  const std::string name(kClassProperty);
  TM_TRY(const auto said, site.text(name));
  if (!said || said->empty()) return {};
  cluster.class_place = site.place(name);
  auto good = policy::waterline::check_name(*said);
  if (!good) return fail(std::move(good).error().within(base::cat(cluster.class_place, ": ", name)));
  cluster.work_class = *said;
  return {};
}

Result<YarnCluster> read_cluster(const HadoopFolder& folder, std::string id, std::string_view prefix,
                                 const hadoop::Identity& identity) {
  TM_TRY(const hadoop::Site site, read_site(folder, prefix));
  YarnCluster cluster;
  cluster.id = std::move(id);
  cluster.overruled = site.overruled();
  auto smallest = hadoop::least_container(site);
  if (!smallest) return fail(std::move(smallest).error().within(base::cat("cluster ", cluster.id)));
  cluster.smallest = *std::move(smallest);
  auto classed = read_class(site, cluster);
  if (!classed) return fail(std::move(classed).error().within(base::cat("cluster ", cluster.id)));
  auto managers = hadoop::resource_managers(site);
  if (!managers) return fail(std::move(managers).error().within(base::cat("cluster ", cluster.id)));
  cluster.managers = std::move(*managers);
  cluster.managers.identity = identity;
  auto security = hadoop::security_of(site);
  if (!security) return fail(std::move(security).error().within(base::cat("cluster ", cluster.id)));
  cluster.managers.security = *std::move(security);
  return cluster;
}

}  // namespace

Result<hadoop::Site> read_site(const HadoopFolder& folder, std::string_view prefix) {
  hadoop::Site site(folder.environment);
  hadoop::set_yarn_defaults(site);
  for (const std::string_view name : kFiles) {
    const std::string path = base::cat(folder.path, "/", prefix, name);
    auto added = site.add(path, folder.read);
    if (!added && (name == kSite || added.error().kind != ErrorKind::kNotFound)) return fail(std::move(added).error());
  }
  return site;
}

Result<std::vector<YarnCluster>> read_clusters(const HadoopFolder& folder, const hadoop::Identity& identity,
                                               std::vector<Error>* invalid) {
  TM_TRY(std::vector<std::string> names, folder.list(folder.path));
  std::ranges::sort(names);
  std::vector<YarnCluster> clusters;
  std::optional<Error> last;
  const auto read = [&](std::string id, std::string_view prefix) -> Result<void> {
    auto cluster = read_cluster(folder, std::move(id), prefix, identity);
    if (cluster) {
      clusters.push_back(std::move(*cluster));
      return {};
    }
    if (invalid == nullptr) return fail(std::move(cluster).error());
    last = cluster.error();
    invalid->push_back(std::move(cluster).error());
    return {};
  };
  if (std::ranges::find(names, kSite) != names.end()) TM_TRY_VOID(read(std::string(kDefaultCluster), ""));
  for (const std::string& name : names) {
    const std::string suffix = base::cat(".", kSite);
    if (!name.ends_with(suffix) || name.size() == suffix.size()) continue;
    if (clusters.size() == kClustersMax) {
      return fail(ErrorKind::kExhausted, folder.path, ": more than ", kClustersMax, " clusters");
    }
    std::string id = name.substr(0, name.size() - suffix.size());
    const std::string prefix = base::cat(id, ".");
    TM_TRY_VOID(read(std::move(id), prefix));
  }
  if (clusters.empty() && last) return fail(std::move(*last));
  if (clusters.empty()) {
    return fail(ErrorKind::kNotFound, folder.path, ": neither ", kSite, " nor a file CLUSTER.", kSite);
  }
  return clusters;
}

std::string files_of(const HadoopFolder& folder) {
  std::string all;
  auto names = folder.list(folder.path);
  if (!names) return all;
  std::ranges::sort(*names);
  for (const std::string& name : *names) {
    if (!name.ends_with(".xml")) continue;
    const auto text = folder.read(base::cat(folder.path, "/", name), hadoop::kSiteBytesMax);
    all += base::cat(name, "\n", text ? *text : text.error().message, "\n");
  }
  return all;
}

}  // namespace tidemark::yarn_operator
