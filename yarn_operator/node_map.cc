#include "yarn_operator/node_map.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "model/names.h"
#include "yarn_operator/clusters.h"

namespace tidemark::yarn_operator {
namespace {

class Mapper {
 public:
  explicit Mapper(const MapInput& input) : input_(input) {
    for (const NmPod& pod : input.pods) pods_.emplace(pod.node, &pod);  // the first of several
    for (const auto& [cluster, ids] : input.known) {
      for (const hadoop::NodeId& id : ids) hosts_.emplace(id.host, NmName{cluster, id});
    }
  }

  NodeMap run() {
    for (const NodePlace& node : input_.nodes) look(node);
    refuse_shared();
    for (const auto& [node, name] : map_.nm_of) taken_.insert(name);
    for (const NodePlace& node : input_.nodes) remember(node);
    for (const auto& [host, name] : hosts_) {
      if (!taken_.contains(name)) map_.without_node.push_back(name);
    }
    return std::move(map_);
  }

 private:
  void look(const NodePlace& node) {
    const auto pod = pods_.find(node.name);
    if (!node.claim.node_id.empty()) {
      claim(node, node.claim, "its annotation");
    } else if (pod != pods_.end() && !pod->second->claim.node_id.empty()) {
      claim(node, pod->second->claim, base::cat("pod ", pod->second->name));
    } else {
      by_address(node);
    }
  }

  void claim(const NodePlace& node, const NmClaim& said, const std::string& who) {
    const std::string cluster = said.cluster_id.empty() ? std::string(kDefaultCluster) : said.cluster_id;
    auto id = hadoop::parse_node_id(said.node_id);
    if (!id) {
      map_.wrong[node.name] = base::cat(who, ": ", id.error().message);
      return;
    }
    const NmName name{cluster, std::move(*id)};
    if (!input_.known.contains(cluster)) {
      map_.wrong[node.name] = base::cat(who, " says ", name.text(), ", but this cluster does not exist");
      return;
    }
    if (reported(name)) {
      map_.nm_of[node.name] = name;
      return;
    }
    // Its ResourceManager knows another one at this address: one of the two names is a mistake.
    if (const auto other = at_addresses(node); other.size() == 1 && other.front() != name) {
      map_.wrong[node.name] =
          base::cat(who, " says ", name.text(), ", but its ResourceManager reports ", other.front().text(), " there");
      return;
    }
    map_.nm_of[node.name] = name;
  }

  bool reported(const NmName& name) const {
    const auto [begin, end] = hosts_.equal_range(name.id.host);
    return std::any_of(begin, end, [&](const auto& each) { return each.second == name; });
  }

  std::vector<NmName> at_addresses(const NodePlace& node) const {
    std::vector<NmName> found;
    for (const std::string& address : {node.name, node.host_name, node.internal_ip}) {
      if (address.empty()) continue;
      const auto [begin, end] = hosts_.equal_range(address);
      for (auto at = begin; at != end; ++at) {
        if (std::ranges::find(found, at->second) == found.end()) found.push_back(at->second);
      }
    }
    std::ranges::sort(found);
    return found;
  }

  void by_address(const NodePlace& node) {
    const std::vector<NmName> found = at_addresses(node);
    if (found.size() == 1) map_.nm_of[node.name] = found.front();
    if (found.size() > 1) {
      map_.wrong[node.name] =
          base::cat("both ", found[0].text(), " and ", found[1].text(),
                    " are at its address: name one in the annotation ", model::kYarnNodeIdAnnotation);
    }
  }

  void refuse_shared() {
    std::map<NmName, std::string> first;
    std::map<std::string, std::string> both;
    for (const auto& [node, name] : map_.nm_of) {
      const auto [at, fresh] = first.emplace(name, node);
      if (fresh) continue;
      both[node] = base::cat(name.text(), " is claimed by node ", at->second, " too");
      both[at->second] = base::cat(name.text(), " is claimed by node ", node, " too");
    }
    for (auto& [node, why] : both) {
      map_.nm_of.erase(node);
      map_.wrong[node] = std::move(why);
    }
  }

  // If another node has it now, it belongs to that node: a person moved the annotation.
  void remember(const NodePlace& node) {
    const auto mapped = map_.nm_of.find(node.name);
    const bool is_mapped = mapped != map_.nm_of.end();
    if (is_mapped && reported(mapped->second)) {
      map_.last.emplace(node.name, mapped->second);
      return;
    }
    if (!node.last) return;
    const NmName& last = *node.last;
    map_.last.emplace(node.name, last);
    if (map_.wrong.contains(node.name)) return;
    if (!input_.known.contains(last.cluster)) {
      map_.wrong[node.name] = base::cat("its NodeManager was ", last.text(), ", but this cluster no longer exists");
    } else if (reported(last) && !taken_.contains(last)) {
      map_.wrong[node.name] =
          base::cat("its NodeManager was ", last.text(), ", which is still active, but now ",
                    is_mapped ? base::cat(mapped->second.text(), " is named, which is not active") : "none is named");
    } else {
      return;
    }
    if (is_mapped) map_.nm_of.erase(mapped);
  }

  const MapInput& input_;
  std::map<std::string, const NmPod*> pods_;
  std::multimap<std::string, NmName> hosts_;
  std::set<NmName> taken_;
  NodeMap map_;
};

}  // namespace

std::string NmName::text() const {
  return cluster == kDefaultCluster ? id.text() : base::cat(id.text(), " of cluster ", cluster);
}

std::string NmName::written() const {
  return base::cat(cluster, "/", id.text());
}

std::optional<NmName> parse_nm_name(std::string_view written) {
  const std::size_t slash = written.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto id = hadoop::parse_node_id(written.substr(slash + 1));
  if (!id) return std::nullopt;
  return NmName{std::string(written.substr(0, slash)), *std::move(id)};
}

NodeMap map_nodes(const MapInput& input) {
  return Mapper(input).run();
}

}  // namespace tidemark::yarn_operator
