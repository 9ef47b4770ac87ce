#include "manager/capacity/own_writes.h"

#include <string>
#include <utility>

#include "kube/convert.h"
#include "manager/leadership.h"
#include "model/annotations.h"

namespace tidemark::manager {
namespace {

bool lacks_any(const model::ExtendedResources& now, const model::ExtendedResources& written) {
  return (written.batch_cpu && !now.batch_cpu) || (written.batch_memory && !now.batch_memory) ||
         (written.mid_cpu && !now.mid_cpu) || (written.mid_memory && !now.mid_memory);
}

}  // namespace

OwnWrites::Carried OwnWrites::carried_by(const kube::Node& node) const {
  Carried carried{kube::extended_resources(node.capacity), kube::extended_resources(node.allocatable), std::nullopt};
  if (const auto* text = node.meta.annotations.find(model::kOriginAllocatableAnnotation)) {
    if (auto origin = model::parse_origin(text->view())) carried.origin = *origin;
  }
  keep_ours(carried);
  return carried;
}

void OwnWrites::keep_ours(Carried& carried) const {
  for (auto* amounts : {&carried.capacity, &carried.allocatable}) {
    if (!plugins_.batch_resource) amounts->batch_cpu.reset(), amounts->batch_memory.reset();
    if (!plugins_.mid_resource) amounts->mid_cpu.reset(), amounts->mid_memory.reset();
  }
  if (!plugins_.batch_resource) carried.origin.reset();
}

bool OwnWrites::carries(const kube::Node& node, const model::ExtendedResources& amounts,
                        const std::optional<model::Resources>& origin) const {
  Carried wanted{amounts, amounts, origin};
  keep_ours(wanted);
  return carried_by(node) == wanted;
}

bool OwnWrites::lacks(const Carried& now, const Carried& written) {
  return lacks_any(now.capacity, written.capacity) || lacks_any(now.allocatable, written.allocatable) ||
         (written.origin && !now.origin);
}

void OwnWrites::wrote(const kube::Node& after, std::int64_t epoch, base::MonotonicTime now) {
  writes_[model::NodeName(std::string(after.meta.name))] = {now, epoch, revision_number(after.meta.resource_version),
                                                            carried_by(after)};
  inherited_.erase(model::NodeName(std::string(after.meta.name)));
}

void OwnWrites::accept(const kube::Node& node) {
  const auto at = writes_.find(model::NodeName(std::string(node.meta.name)));
  if (at == writes_.end()) return;
  at->second.revision = revision_number(node.meta.resource_version);
  at->second.carried = carried_by(node);
}

void OwnWrites::stands(const kube::Node& node, base::MonotonicTime now) {
  accept(node);
  const auto at = writes_.find(model::NodeName(std::string(node.meta.name)));
  if (at != writes_.end()) at->second.when = now;
}

void OwnWrites::gone(const model::NodeName& node, base::MonotonicTime now) {
  while (!gone_.empty() && now - gone_.front().when > kMadeAnewWithin) {
    // One that came back was written since, or is still waiting to be.
    const auto at = writes_.find(gone_.front().node);
    if (at != writes_.end() && at->second.when <= gone_.front().when) writes_.erase(at);
    gone_.pop_front();
  }
  if (writes_.contains(node)) gone_.push_back({now, node});
}

void OwnWrites::saw(const kube::Node& before, const kube::Node* after, bool leading, std::optional<std::int64_t> epoch,
                    base::MonotonicTime now) {
  const model::NodeName node{std::string(before.meta.name)};
  if (leading && written(node, epoch) != nullptr) return;
  const auto at = inherited_.find(node);
  if (at != inherited_.end()) {
    if (after != nullptr && !lacks(carried_by(*after), at->second.carried)) inherited_.erase(at);
    return;
  }
  Carried carried = carried_by(before);
  if (!lacks(after == nullptr ? Carried() : carried_by(*after), carried)) return;
  std::erase_if(inherited_, [&](const auto& each) { return now - each.second.when > kMadeAnewWithin; });
  inherited_.emplace(node, Inherited{now, std::move(carried)});
}

const OwnWrites::Written* OwnWrites::written(const model::NodeName& node, std::optional<std::int64_t> epoch) const {
  const auto at = writes_.find(node);
  return at == writes_.end() || (epoch && *epoch != at->second.epoch) ? nullptr : &at->second;
}

std::optional<base::Duration> OwnWrites::since(const model::NodeName& node, std::optional<std::int64_t> epoch,
                                               base::MonotonicTime now) const {
  const Written* last = written(node, epoch);
  return last == nullptr ? std::nullopt : std::optional(now - last->when);
}

LeftAs OwnWrites::left_as(const kube::Node& node, std::optional<std::int64_t> epoch, base::MonotonicTime now) const {
  const model::NodeName name{std::string(node.meta.name)};
  const Written* last = written(name, epoch);
  if (last == nullptr) {
    const auto at = inherited_.find(name);
    const bool lost = at != inherited_.end() && now - at->second.when <= kMadeAnewWithin &&
                      lacks(carried_by(node), at->second.carried);
    return lost ? LeftAs::kLost : LeftAs::kNotWritten;
  }
  const std::uint64_t seen = revision_number(node.meta.resource_version);
  if (seen == last->revision) return LeftAs::kAsWritten;
  if (seen != 0 && seen < last->revision && now - last->when < kBehindMax) return LeftAs::kBehind;
  const Carried carried = carried_by(node);
  if (carried == last->carried) return LeftAs::kAsWritten;
  return lacks(carried, last->carried) ? LeftAs::kLost : LeftAs::kChanged;
}

}  // namespace tidemark::manager
