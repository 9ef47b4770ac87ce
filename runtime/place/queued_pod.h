// A pod as the queue of its node sees it: its requests, its node, and its present condition.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "policy/single_node/queue_types.h"
#include "policy/state/mark.h"

namespace tidemark::runtime {

struct QueuedPod {
  struct Meta {
    kube::Text ns;
    kube::Text name;
    std::string resource_version;
  };
  Meta meta;
  kube::Text node;  // empty: it waits
  policy::single_node::QueuePod pod;
  bool understood = true;  // else only its names are there
  bool leaving = false;    // it has a deletionTimestamp
  bool disrupted = false;  // condition DisruptionTarget
  std::optional<base::WallTime> disrupted_at;
  bool told = false;  // condition PodScheduled is False, with these words
  std::string told_reason, told_message;

  bool evicted() const { return leaving && disrupted; }
  std::size_t bytes() const;
};

Result<QueuedPod> decode_queued_pod(std::string_view bytes, kube::Interner& interner);
// Of one that is not understood what names it.
Result<QueuedPod> name_queued_pod(std::string_view bytes, kube::Interner& interner);

// Whether the queue may come out otherwise by this change: a pod's status changes far more often.
bool matters_to_queue(const QueuedPod* before, const QueuedPod* after);

struct QueuedNode {
  struct Meta {
    kube::Text ns;
    kube::Text name;
    std::string resource_version;
  };
  Meta meta;
  policy::single_node::QueueNode node;
  policy::state::NodeMarks ordered;  // on, observe, off: what its mark says, read as an agent reads it
  // By the switch on the machine, as its agent tells; of one that can write nothing, by a mark as well.
  bool off_locally = false;

  std::size_t bytes() const;
};

Result<QueuedNode> decode_queued_node(std::string_view bytes, kube::Interner& interner);

}  // namespace tidemark::runtime
