// What the operator had end on nodes for more timely work within the hour: as the nodes say it
// (model::kYarnGivenBackAnnotation), and what was ended a moment ago and the watch has not brought yet. So one that
// begins anew, or leads now, goes on in the same hour.
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

class GivenBackBook {
 public:
  void gave_back(const kube::Node& node, std::string_view work_class, std::int64_t containers, base::WallTime now);
  // Within the hour, the oldest first. What cannot be read is nothing.
  std::vector<model::EndedTasks> of(const kube::Node& node, base::WallTime now) const;
  std::int64_t containers(const kube::Node& node, base::WallTime now) const;
  // What is to stand on the node; nullopt: it stands there. "": nothing is any more, what stands there goes.
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
  std::map<std::string, std::vector<model::EndedTasks>> fresh_;  // by node: later than what stood there
};

}  // namespace tidemark::yarn_operator
