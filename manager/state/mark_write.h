// The state mark on a node, read from the node and written back. Shared by the manager and by the commands, which work
// with the manager dead.
//
// A mark is written by one JSON patch on nodes/<name>/status: label, annotation, and what stops selling at once. It
// tests that label and annotation are still what they were read as, so of two writers at once the second is refused
// (422) and looks again; kubelets and managers that change other parts of the node meanwhile do not disturb it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "policy/state/effect.h"
#include "policy/state/state.h"

namespace tidemark::manager {

// What a node carries of its mark, as text.
struct MarkOnNode {
  std::optional<std::string> label;
  std::optional<std::string> detail;
  // A patch cannot add to a map that is not there.
  bool has_labels = true;
  bool has_annotations = true;
};
// Decode `node` with fields that keep both keys. The patch assumes that labels and annotations exist if none was kept;
// otherwise the server refuses it, and exact_mark() finds out.
MarkOnNode mark_of(const kube::Node& node);
std::string mark_json(const MarkOnNode& mark);  // for the audit
policy::state::NodeReading read_marks(const MarkOnNode& mark);

// By the mark on the node: its draining is over, and what is left of it is to go.
bool class_is_off(const kube::Node& node, std::string_view work_class, base::WallTime now);

// From the bytes of the whole node.
Result<MarkOnNode> exact_mark(std::string_view node_bytes);

policy::state::OnNode carried_by(const kube::Node& node);

// The keys that decisions about marks read of a node.
kube::MetaFields mark_fields();

// The body of the patch. `marks` get the next generation. With `stop_selling` it also withdraws what the node offers
// where the marks say so; amounts are only ever lowered.
struct MarkWrite {
  std::string body;
  policy::state::NodeMarks marks;
  model::NodeState label = model::NodeState::kOff;
};
MarkWrite mark_write(const MarkOnNode& before, policy::state::NodeMarks marks, base::WallTime now,
                     const kube::Node* stop_selling);

// Whether the node carries something that such a write would withdraw.
bool is_to_stop_selling(const kube::Node& node, const policy::state::NodeMarks& marks, base::WallTime now);

}  // namespace tidemark::manager
