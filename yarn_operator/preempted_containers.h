// What the operator ended on nodes within the hour for more timely work: from the nodes
// (model::kYarnPreemptedAnnotation), plus what it ended just now and the watch has not delivered yet. A restarted or
// new leader continues in the same hour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/objects.h"
#include "model/ended_tasks.h"

namespace tidemark::yarn_operator {

class PreemptedContainers {
 public:
  void add(const kube::Node& node, std::string_view work_class, std::int64_t containers, base::WallTime now);
  // Within the hour, the oldest first. Unreadable text counts as nothing.
  std::vector<model::EndedTasks> of(const kube::Node& node, base::WallTime now) const;
  std::int64_t containers(const kube::Node& node, base::WallTime now) const;
  // The new value for the node; nullopt: unchanged. "": remove the annotation.
  std::optional<std::string> to_write(const kube::Node& node, base::WallTime now) const;

  std::size_t kept(const kube::Node& node) const {
    const auto at = fresh_.find(std::string(node.meta.name));
    return at == fresh_.end() ? 0 : at->second.size();
  }

  template <class IsGone>
  void forget(IsGone&& is_gone) {
    std::erase_if(fresh_, is_gone);
  }

 private:
  std::map<std::string, std::vector<model::EndedTasks>> fresh_;  // by node: later than the annotation
};

}  // namespace tidemark::yarn_operator
