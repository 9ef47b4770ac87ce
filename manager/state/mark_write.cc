#include "manager/state/mark_write.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "kube/convert.h"
#include "manager/state/oversold_taint.h"
#include "model/annotations.h"
#include "model/generation.h"
#include "model/names.h"
#include "model/oversold.h"

namespace tidemark::manager {
namespace {

using base::JsonWriter;

// "/metadata/annotations/tidemark.io~1state-detail"
std::string pointer(std::string_view folder, std::string_view key) {
  std::string path = base::cat(folder, "/");
  for (const char c : key) {
    if (c == '~') {
      path += "~0";
    } else if (c == '/') {
      path += "~1";
    } else {
      path += c;
    }
  }
  return path;
}

constexpr std::string_view kLabels = "/metadata/labels";
constexpr std::string_view kAnnotations = "/metadata/annotations";

class JsonPatch {
 public:
  explicit JsonPatch(std::string& out) : json_(out) { json_.begin_array(); }
  ~JsonPatch() { json_.end_array(); }
  JsonPatch(const JsonPatch&) = delete;

  void test(std::string_view path, const std::optional<std::string>& value) {
    begin("test", path).key("value");
    if (value) {
      json_.value(std::string_view(*value));
    } else {
      json_.null();
    }
    json_.end_object();
  }
  void add(std::string_view path, std::string_view value) { begin("add", path).member("value", value).end_object(); }
  void add_map(std::string_view path) {
    begin("add", path).key("value").begin_object().end_object();
    json_.end_object();
  }
  void remove(std::string_view path) { begin("remove", path).end_object(); }

 private:
  JsonWriter& begin(std::string_view op, std::string_view path) {
    return json_.begin_object().member("op", op).member("path", path);
  }
  JsonWriter json_;
};

// The text of one entry of a map that may be missing altogether.
void write_entry(JsonPatch& patch, std::string_view map, bool map_exists, std::string_view key,
                 const std::optional<std::string>& before, std::string_view after) {
  const std::string path = pointer(map, key);
  if (map_exists) {
    patch.test(path, before);
  } else {
    patch.test(map, std::nullopt);
    patch.add_map(map);
  }
  if (before != after) patch.add(path, after);
}

template <class Amount>
void write_amount(JsonPatch& patch, const kube::Node& node, std::string_view key, const std::optional<Amount>& wanted) {
  const std::pair<const kube::ResourceList*, std::string_view> lists[] = {{&node.capacity, "/status/capacity"},
                                                                          {&node.allocatable, "/status/allocatable"}};
  for (const auto& [list, folder] : lists) {
    const auto carried = list->find(key);
    if (!carried) continue;
    if (!wanted) {
      patch.remove(pointer(folder, key));
    } else if (wanted->value < *carried) {
      patch.add(pointer(folder, key), base::cat(wanted->value));
    }
  }
}

// Nothing is planned here: what is not switched off stays as it is on the node.
policy::sell::OvercommitPlan stopped(const policy::state::OnNode& on_node, const policy::state::NodeMarks& marks,
                                     base::WallTime now) {
  return policy::state::obey({}, policy::state::effective(marks, model::Mode::kEnforce, now), on_node,
                             policy::sell::PluginSet())
      .plan;
}

template <class Amount>
bool is_more(const std::optional<Amount>& carried, const std::optional<Amount>& wanted) {
  return carried && *carried > wanted.value_or(Amount{0});
}

bool is_more(const model::ExtendedResources& carried, const model::ExtendedResources& wanted) {
  return is_more(carried.batch_cpu, wanted.batch_cpu) || is_more(carried.batch_memory, wanted.batch_memory) ||
         is_more(carried.mid_cpu, wanted.mid_cpu) || is_more(carried.mid_memory, wanted.mid_memory);
}

void write_stop(JsonPatch& patch, const kube::Node& node, const policy::state::NodeMarks& marks, base::WallTime now) {
  const auto on_node = carried_by(node);
  const auto wanted = stopped(on_node, marks, now);
  if (wanted.action == policy::sell::PlanAction::kHold) return;
  write_amount(patch, node, model::kBatchCpu, wanted.publish.batch_cpu);
  write_amount(patch, node, model::kBatchMemory, wanted.publish.batch_memory);
  write_amount(patch, node, model::kMidCpu, wanted.publish.mid_cpu);
  write_amount(patch, node, model::kMidMemory, wanted.publish.mid_memory);
  if (has_oversold_mark(node)) patch.remove(pointer(kAnnotations, model::kOversoldAnnotation));
  if (on_node.origin && wanted.origin && *wanted.origin != *on_node.origin) {
    patch.add(pointer(kAnnotations, model::kOriginAllocatableAnnotation), model::format_origin(*wanted.origin));
  }
}

}  // namespace

std::string mark_json(const MarkOnNode& mark) {
  Json out = Json::object();
  if (mark.label) out[model::kStateLabel] = Json(*mark.label);
  if (mark.detail) out[model::kStateDetailAnnotation] = Json(*mark.detail);
  return out.dump();
}

MarkOnNode mark_of(const kube::Node& node) {
  MarkOnNode mark;
  if (const auto* label = node.meta.labels.find(model::kStateLabel)) mark.label = label->view();
  if (const auto* detail = node.meta.annotations.find(model::kStateDetailAnnotation)) mark.detail = detail->view();
  return mark;
}

policy::state::NodeReading read_marks(const MarkOnNode& mark) {
  const auto view = [](const std::optional<std::string>& text) {
    return text ? std::optional<std::string_view>(*text) : std::nullopt;
  };
  return policy::state::read_marks(view(mark.label), view(mark.detail));
}

bool class_is_off(const kube::Node& node, std::string_view work_class, base::WallTime now) {
  const policy::state::EffectiveState state =
      policy::state::effective(read_marks(mark_of(node)).marks, model::Mode::kEnforce, now);
  return std::ranges::binary_search(state.classes_drained, work_class);
}

Result<MarkOnNode> exact_mark(std::string_view node_bytes) {
  TM_TRY(const Json node, Json::parse(node_bytes));
  const Json* labels = node.at("metadata", "labels");
  const Json* annotations = node.at("metadata", "annotations");
  const auto text = [](const Json* map, std::string_view key) -> std::optional<std::string> {
    const Json* found = map == nullptr ? nullptr : map->member(key);
    if (found == nullptr || !found->is_string()) return std::nullopt;
    return found->as_string();
  };
  MarkOnNode mark;
  mark.label = text(labels, model::kStateLabel);
  mark.detail = text(annotations, model::kStateDetailAnnotation);
  mark.has_labels = labels != nullptr;
  mark.has_annotations = annotations != nullptr;
  return mark;
}

policy::state::OnNode carried_by(const kube::Node& node) {
  policy::state::OnNode carried;
  carried.published = kube::extended_resources(node.allocatable);
  if (const auto* annotation = node.meta.annotations.find(model::kOriginAllocatableAnnotation)) {
    if (auto read = model::parse_origin(annotation->view())) carried.origin = *read;
  }
  return carried;
}

kube::MetaFields mark_fields() {
  kube::MetaFields fields;
  fields.labels = kube::KeyFilter::all();  // pools select nodes by any of them
  fields.annotations = {model::kStateDetailAnnotation, model::kOriginAllocatableAnnotation, model::kOversoldAnnotation};
  return fields;
}

bool is_to_stop_selling(const kube::Node& node, const policy::state::NodeMarks& marks, base::WallTime now) {
  const auto on_node = carried_by(node);
  const auto wanted = stopped(on_node, marks, now);
  if (wanted.action == policy::sell::PlanAction::kHold) return false;
  const bool origin = on_node.origin && wanted.origin && *wanted.origin != *on_node.origin;
  return origin || has_oversold_mark(node) || is_more(on_node.published, wanted.publish) ||
         is_more(kube::extended_resources(node.capacity), wanted.publish);
}

MarkWrite mark_write(const MarkOnNode& before, policy::state::NodeMarks marks, base::WallTime now,
                     const kube::Node* stop_selling) {
  MarkWrite write;
  marks.generation = model::next_generation(marks.generation, now);
  write.label = policy::state::label_of(marks, now);
  {
    JsonPatch patch(write.body);
    write_entry(patch, kAnnotations, before.has_annotations, model::kStateDetailAnnotation, before.detail,
                policy::state::format_marks(marks, write.label));
    write_entry(patch, kLabels, before.has_labels, model::kStateLabel, before.label, to_string(write.label));
    if (stop_selling != nullptr) write_stop(patch, *stop_selling, marks, now);
  }
  write.marks = std::move(marks);
  return write;
}

}  // namespace tidemark::manager
