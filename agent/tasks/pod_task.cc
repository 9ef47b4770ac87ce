#include "agent/tasks/pod_task.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "kube/convert.h"
#include "kube/decode.h"
#include "kube/objects.h"
#include "model/annotations.h"
#include "model/names.h"
#include "model/pod.h"
#include "policy/waterline/profile/workload.h"

namespace tidemark::agent {
namespace {

using model::ContainerRole;
using model::SaidAmounts;
using model::TaskAmounts;
using model::TaskSetting;

// Marks of static pods: the kubelet's list has their source, the API server has their mirror.
constexpr std::string_view kConfigSource = "kubernetes.io/config.source";
constexpr std::string_view kConfigMirror = "kubernetes.io/config.mirror";
constexpr std::string_view kConfigHash = "kubernetes.io/config.hash";
constexpr std::string_view kFromApi = "api";
constexpr std::string_view kTemplateHashLabel = "pod-template-hash";

struct SettingKey {
  TaskSetting what;
  std::string_view key;
};
constexpr SettingKey kAnnotations[] = {
    {TaskSetting::kCpuBurst, model::kCpuBurstAnnotation},
    {TaskSetting::kCpuQos, model::kCpuQosAnnotation},
    {TaskSetting::kMemoryQos, model::kMemoryQosAnnotation},
    {TaskSetting::kBlkioQos, model::kBlkioQosAnnotation},
    {TaskSetting::kNetworkQos, model::kNetworkQosAnnotation},
    {TaskSetting::kOomScoreAdj, model::kOomScoreAdjAnnotation},
    {TaskSetting::kOomScoreAdjSpec, model::kOomScoreAdjSpecAnnotation},
    {TaskSetting::kResctrl, model::kResctrlAnnotation},
};
constexpr SettingKey kLabels[] = {
    {TaskSetting::kCoreSchedGroup, model::kCoreSchedGroupLabel},
    {TaskSetting::kCoreSchedPolicy, model::kCoreSchedPolicyLabel},
};

kube::PodFields fields_of_tasks() {
  kube::PodFields fields;
  fields.meta.labels = {model::kQosClassLabel,        model::kPriorityClassLabel,  model::kPriorityLabel,
                        model::kEvictionEnabledLabel, model::kClassLabel,          model::kJobLabel,
                        model::kBusinessLabel,        model::kUserLabel,           model::kCoreSchedGroupLabel,
                        model::kCoreSchedPolicyLabel, model::kInfrastructureLabel, kTemplateHashLabel};
  fields.meta.annotations = {kConfigSource,
                             kConfigMirror,
                             kConfigHash,
                             model::kEvictionPolicyAnnotation,
                             model::kEvictionPriorityAnnotation,
                             model::kProgressAnnotation,
                             model::kHeldBytesAnnotation,
                             model::kResourceStatusAnnotation,
                             model::kExtendedResourceSpecAnnotation,
                             model::kCpuBurstAnnotation,
                             model::kCpuQosAnnotation,
                             model::kMemoryQosAnnotation,
                             model::kBlkioQosAnnotation,
                             model::kNetworkQosAnnotation,
                             model::kOomScoreAdjAnnotation,
                             model::kOomScoreAdjSpecAnnotation,
                             model::kResctrlAnnotation};
  fields.statuses = false;  // read_statuses() reads the relevant ones
  return fields;
}

// ---- containers ----

struct Status {
  std::string name;
  std::string id;  // "containerd://…"
  model::ContainerState state = model::ContainerState::kUnknown;
  bool ephemeral = false;
};

void read_state(kube::Decoder& decoder, Status& status) {
  decoder.object([&](std::string_view key) {
    if (key == "running") {
      status.state = model::ContainerState::kRunning;
    } else if (key == "terminated") {
      status.state = model::ContainerState::kTerminated;
    } else if (key == "waiting") {
      status.state = model::ContainerState::kWaiting;
    }
    decoder.skip();
  });
}

void read_status_list(kube::Decoder& decoder, bool ephemeral, std::vector<Status>& statuses) {
  decoder.array([&] {
    Status status;
    status.ephemeral = ephemeral;
    decoder.object([&](std::string_view key) {
      if (key == "name") {
        decoder.string(status.name);
      } else if (key == "containerID") {
        decoder.string(status.id);
      } else if (key == "state") {
        read_state(decoder, status);
      } else {
        decoder.skip();
      }
    });
    if (statuses.size() < model::kTaskContainersMax) statuses.push_back(std::move(status));
  });
}

Result<std::vector<Status>> read_statuses(std::string_view bytes, kube::Interner& interner) {
  std::vector<Status> statuses;
  kube::Decoder decoder(bytes, interner);
  decoder.object([&](std::string_view member) {
    if (member != "status") return decoder.skip();
    decoder.object([&](std::string_view key) {
      if (key == "containerStatuses" || key == "initContainerStatuses") {
        read_status_list(decoder, false, statuses);
      } else if (key == "ephemeralContainerStatuses") {
        read_status_list(decoder, true, statuses);
      } else {
        decoder.skip();
      }
    });
  });
  TM_TRY_VOID(decoder.finish("Pod"));
  return statuses;
}

void take_status(const Status& status, model::TaskContainer& container) {
  container.state = status.state;
  const auto slashes = status.id.find("://");
  if (slashes == std::string::npos || status.id.size() > model::kTaskNameBytesMax) return;
  container.runtime = status.id.substr(0, slashes);
  container.id = status.id.substr(slashes + 3);
}

// ---- amounts ----

template <class Amount>
std::optional<Amount> said(const kube::ResourceList& list, std::string_view name) {
  const auto amount = list.find(name);
  return amount ? std::optional(Amount{*amount}) : std::nullopt;
}

TaskAmounts amounts_of(const kube::ResourceList& list) {
  using model::CpuMilli;
  using model::MemoryBytes;
  return {{said<CpuMilli>(list, "cpu"), said<MemoryBytes>(list, "memory")},
          {said<CpuMilli>(list, model::kBatchCpu), said<MemoryBytes>(list, model::kBatchMemory)},
          {said<CpuMilli>(list, model::kMidCpu), said<MemoryBytes>(list, model::kMidMemory)}};
}

// A limit of 0 means no limit, in Kubernetes as in contract 7.2 (quota ≤ 0 → −1).
void drop_empty_limits(TaskAmounts& limits) {
  for (SaidAmounts* each : {&limits.native, &limits.batch, &limits.mid}) {
    if (each->cpu && each->cpu->value <= 0) each->cpu.reset();
    if (each->memory && each->memory->value <= 0) each->memory.reset();
  }
}

model::TaskContainer container_of(const kube::Container& spec, ContainerRole role) {
  model::TaskContainer container;
  container.name = std::string(spec.name.view().substr(0, model::kTaskNameBytesMax));
  container.role = role;
  container.requests = amounts_of(spec.requests);
  container.limits = amounts_of(spec.limits);
  drop_empty_limits(container.limits);
  return container;
}

model::Resources or_nothing(const SaidAmounts& amounts) {
  return {amounts.cpu.value_or(model::CpuMilli{}), amounts.memory.value_or(model::MemoryBytes{})};
}

// The part of a task that is summed.
using Part = SaidAmounts TaskAmounts::*;

// By the rule for requests (model/pod.h), whichever side is summed.
model::Resources sum_of(const model::Task& task, TaskAmounts model::TaskContainer::* side, Part part) {
  model::PodResources pod;
  for (const model::TaskContainer& each : task.containers) {
    const model::ContainerResources amounts{or_nothing((each.*side).*part), {}, each.role == ContainerRole::kSidecar};
    if (each.role == ContainerRole::kMain) pod.containers.push_back(amounts);
    if (each.role == ContainerRole::kInit || each.role == ContainerRole::kSidecar)
      pod.init_containers.push_back(amounts);
  }
  return model::effective_request(pod);
}

// Each resource separately, and only if all counted containers have a limit.
SaidAmounts limit_of(const model::Task& task, Part part, bool all_count) {
  bool any = false, cpu = true, memory = true;
  for (const model::TaskContainer& each : task.containers) {
    const SaidAmounts& limit = each.limits.*part;
    if (!all_count && limit.none() && (each.requests.*part).none()) continue;
    any = true;
    cpu = cpu && limit.cpu.has_value();
    memory = memory && limit.memory.has_value();
  }
  const model::Resources sum = sum_of(task, &model::TaskContainer::limits, part);
  SaidAmounts out;
  if (any && cpu) out.cpu = sum.cpu;
  if (any && memory) out.memory = sum.memory;
  return out;
}

void sum_up(const kube::Pod& pod, const model::PodResources& resources, model::Task& task) {
  const model::Resources native = model::effective_request(resources);
  task.requests.native = {native.cpu, native.memory};
  for (const Part part : {&TaskAmounts::batch, &TaskAmounts::mid}) {
    const model::Resources sum = sum_of(task, &model::TaskContainer::requests, part);
    if (sum.cpu.value > 0) (task.requests.*part).cpu = sum.cpu;
    if (sum.memory.value > 0) (task.requests.*part).memory = sum.memory;
    // Contract 7.8: of batch resources only the containers that have some count.
    task.limits.*part = limit_of(task, part, false);
  }
  SaidAmounts& limit = task.limits.native = limit_of(task, &TaskAmounts::native, true);
  const TaskAmounts pod_level = amounts_of(pod.pod_limits);
  if (pod_level.native.cpu && pod_level.native.cpu->value > 0) limit.cpu = pod_level.native.cpu;
  if (pod_level.native.memory && pod_level.native.memory->value > 0) limit.memory = pod_level.native.memory;
  if (limit.cpu) *limit.cpu += resources.overhead.cpu;
  if (limit.memory) *limit.memory += resources.overhead.memory;
}

// ---- labels and annotations ----

struct Reader {
  const kube::Pod& pod;
  PodTask& out;

  const kube::Text* annotation(std::string_view key) const { return pod.meta.annotations.find(key); }
  void note(std::string_view kind, std::string_view key, std::string_view what) {
    out.notes.push_back(base::cat(kind, " ", key, ": ", what));
  }

  std::string word(std::string_view label) {
    const std::string_view value = pod.meta.labels.get(label);
    if (value.size() <= model::kTaskNameBytesMax) return std::string(value);
    note("label", label, base::cat(value.size(), " bytes: at most ", model::kTaskNameBytesMax));
    return {};
  }

  void setting(std::string_view kind, const SettingKey& what, const kube::Text* text) {
    if (text == nullptr) return;
    if (text->size() > model::kTaskSettingBytesMax) {
      return note(kind, what.key, base::cat(text->size(), " bytes: at most ", model::kTaskSettingBytesMax));
    }
    out.task.settings.push_back({what.what, std::string(text->view())});
  }
};

std::optional<std::int32_t> parse_int32(std::string_view text) {
  const auto number = base::parse_int(text);
  if (!number || *number < std::numeric_limits<std::int32_t>::min() ||
      *number > std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<std::int32_t>(*number);
}

// Contract 1.4: absent = all; bad JSON = none.
void read_eviction_policy(Reader& reader) {
  const kube::Text* text = reader.annotation(model::kEvictionPolicyAnnotation);
  if (text == nullptr) return;
  std::vector<std::string>& features = reader.out.task.eviction_features.emplace();
  base::JsonReader json(*text);
  json.array([&] {
    std::string feature;
    json.string(feature);
    if (features.size() < model::kTaskFeaturesMax && feature.size() <= model::kTaskNameBytesMax) {
      features.push_back(std::move(feature));
    }
  });
  if (auto end = json.finish(); !end) {
    features.clear();
    reader.note("annotation", model::kEvictionPolicyAnnotation, end.error().message);
  }
}

// The loss of an eviction, as declared by the job.
void read_loss(Reader& reader) {
  model::Task& task = reader.out.task;
  if (const kube::Text* text = reader.annotation(model::kProgressAnnotation)) {
    const auto percent = parse_int32(*text);
    if (percent && *percent >= 0 && *percent <= 100) {
      task.progress_percent = percent;
    } else {
      reader.note("annotation", model::kProgressAnnotation, "wanted a whole number in 0..100");
    }
  }
  if (const kube::Text* text = reader.annotation(model::kHeldBytesAnnotation)) {
    const auto bytes = base::parse_int(*text);
    if (bytes && *bytes >= 0) {
      task.held_bytes = *bytes;
    } else {
      reader.note("annotation", model::kHeldBytesAnnotation, "wanted a number of bytes");
    }
  }
}

void read_eviction(Reader& reader) {
  model::Task& task = reader.out.task;
  task.eviction_enabled = reader.pod.meta.labels.get(model::kEvictionEnabledLabel) == "true";
  task.infrastructure = reader.pod.meta.labels.get(model::kInfrastructureLabel) == "true";
  read_eviction_policy(reader);
  read_loss(reader);
  if (const kube::Text* text = reader.annotation(model::kEvictionPriorityAnnotation)) {
    const auto priority = parse_int32(*text);
    task.eviction_priority = priority.value_or(0);
    if (!priority) reader.note("annotation", model::kEvictionPriorityAnnotation, "wanted a number of 32 bits");
  }
  if (const kube::Text* text = reader.pod.meta.labels.find(model::kPriorityLabel)) {
    task.sub_priority = parse_int32(*text);
    if (!task.sub_priority) reader.note("label", model::kPriorityLabel, "wanted a number of 32 bits");
  }
}

// The assigned cpuset and NUMA nodes (contract 7.9: with cpu or batch-cpu > 0).
void read_resource_status(Reader& reader) {
  const kube::Text* text = reader.annotation(model::kResourceStatusAnnotation);
  if (text == nullptr) return;
  model::Task& task = reader.out.task;
  const auto refuse = [&](std::string_view why) {
    task.cpuset.clear();
    task.numa_nodes.clear();
    reader.note("annotation", model::kResourceStatusAnnotation, why);
  };
  auto nodes = model::parse_numa_nodes(*text);
  if (!nodes) return refuse(nodes.error().message);
  base::JsonReader json(*text);
  json.object([&](std::string_view key) {
    if (key == "cpuset") {
      json.string(task.cpuset);
    } else {
      json.skip();
    }
  });
  if (task.cpuset.size() > model::kTaskCpusetBytesMax) return refuse("cpuset: too long a list");
  if (!task.cpuset.empty()) {
    if (auto count = model::count_cpus(task.cpuset); !count) return refuse("cpuset: " + count.error().message);
  }
  task.numa_nodes = *std::move(nodes);
  std::ranges::sort(task.numa_nodes);
  const auto twice = std::ranges::unique(task.numa_nodes);
  task.numa_nodes.erase(twice.begin(), twice.end());
}

// `node.koordinator.sh/extended-resource-spec`, for containers whose specification has no batch resources: an API
// server drops unknown resources from a pod, the webhook's annotation keeps them.
void read_extended_spec(Reader& reader, kube::Interner& interner) {
  const kube::Text* text = reader.annotation(model::kExtendedResourceSpecAnnotation);
  if (text == nullptr) return;
  std::vector<kube::Container> said;
  kube::Decoder decoder(*text, interner);
  decoder.object([&](std::string_view member) {
    if (member != "containers") return decoder.skip();
    decoder.object([&](std::string_view name) {
      kube::Container container;
      container.name = kube::Text::plain(name);
      decoder.object([&](std::string_view key) {
        if (key == "requests") {
          kube::read_resources(decoder, container.requests);
        } else if (key == "limits") {
          kube::read_resources(decoder, container.limits);
        } else {
          decoder.skip();
        }
      });
      if (said.size() < model::kTaskContainersMax) said.push_back(std::move(container));
    });
  });
  if (auto end = decoder.finish("extended-resource-spec"); !end) {
    return reader.note("annotation", model::kExtendedResourceSpecAnnotation, end.error().message);
  }
  for (model::TaskContainer& each : reader.out.task.containers) {
    if (!each.requests.batch.none() || !each.limits.batch.none() || each.role != ContainerRole::kMain) continue;
    const auto found =
        std::ranges::find(said, std::string_view(each.name), [](const auto& one) { return one.name.view(); });
    if (found == said.end()) continue;
    each.requests.batch = amounts_of(found->requests).batch;
    TaskAmounts limits = amounts_of(found->limits);
    drop_empty_limits(limits);
    each.limits.batch = limits.batch;
  }
}

void read_identity(const PodSource& source, Reader& reader) {
  const kube::ObjectMeta& meta = reader.pod.meta;
  model::TaskIdentity& identity = reader.out.task.identity;
  identity.source = source.name;
  identity.cluster = source.cluster;
  identity.job = reader.word(model::kJobLabel);
  if (identity.job.empty() && !meta.owner_name.empty()) {
    identity.job = base::cat(meta.ns.view(), "/", meta.owner_kind.view(), "/", meta.owner_name.view());
  }
  identity.user = reader.word(model::kUserLabel);
  identity.business = reader.word(model::kBusinessLabel);
  identity.work_class = reader.word(model::kClassLabel);
  identity.task = std::string(meta.uid.view());
  const bool mirror = reader.annotation(kConfigMirror) != nullptr;
  if (const std::string_view hash = meta.annotations.get(kConfigHash); mirror && !hash.empty()) identity.task = hash;
  const kube::Text* from = reader.annotation(kConfigSource);
  reader.out.task.fixed = mirror || (from != nullptr && *from != kFromApi);
}

}  // namespace

Result<PodTask> decode_pod_task(std::string_view bytes, const PodSource& source, kube::Interner& interner) {
  static const kube::PodFields fields = fields_of_tasks();
  TM_TRY(const kube::Pod pod, kube::decode_pod(bytes, fields, interner));
  TM_TRY(const std::vector<Status> statuses, read_statuses(bytes, interner));
  if (pod.meta.uid.empty()) {
    return fail(ErrorKind::kInvalid, "Pod ", pod.meta.ns.view(), "/", pod.meta.name.view(), ": it has no metadata.uid");
  }
  for (const kube::Text* name : {&pod.meta.ns, &pod.meta.name, &pod.meta.uid, &pod.meta.owner_name}) {
    if (name->size() > model::kTaskNameBytesMax) {
      return fail(ErrorKind::kInvalid, "Pod: a name of ", name->size(), " bytes: at most ", model::kTaskNameBytesMax);
    }
  }

  PodTask out;
  model::Task& task = out.task;
  Reader reader{pod, out};
  task.kind = model::TaskKind::kPod;
  task.provider = source.provider;
  task.ns = std::string(pod.meta.ns.view());
  task.name = std::string(pod.meta.name.view());
  task.workload = policy::waterline::workload_text(policy::waterline::workload_of(
      task.ns, {pod.meta.owner_kind.view(), pod.meta.owner_name.view(), pod.meta.labels.get(kTemplateHashLabel)}));
  read_identity(source, reader);

  const model::PodResources resources = kube::to_pod_resources(pod);
  task.kube_qos = pod.qos ? *pod.qos : model::kube_qos(resources);
  task.qos_raw = model::parse_qos(pod.meta.labels.get(model::kQosClassLabel));
  task.qos = model::qos_with_default(task.qos_raw, task.kube_qos);
  const kube::Text* class_label = pod.meta.labels.find(model::kPriorityClassLabel);
  task.priority_raw = model::priority_class_raw(
      class_label == nullptr ? std::nullopt : std::optional(class_label->view()), pod.priority);
  task.priority = model::priority_class_with_default(task.priority_raw, task.qos);
  task.priority_number = pod.priority;
  task.priority_value = model::priority_with_default(pod.priority, task.priority);
  task.phase = pod.phase;
  task.created = pod.meta.created;
  task.started = pod.started;
  task.deleted = pod.meta.deleted;
  task.host_network = pod.host_network;

  for (const kube::Container& each : pod.containers)
    task.containers.push_back(container_of(each, ContainerRole::kMain));
  for (const kube::Container& each : pod.init_containers) {
    task.containers.push_back(container_of(each, each.restart_always ? ContainerRole::kSidecar : ContainerRole::kInit));
  }
  if (task.containers.size() > model::kTaskContainersMax) {
    return fail(ErrorKind::kInvalid, "Pod ", task.ns, "/", task.name, ": ", task.containers.size(),
                " containers: at most ", model::kTaskContainersMax);
  }
  read_extended_spec(reader, interner);
  sum_up(pod, resources, task);
  for (const Status& status : statuses) {
    auto found = std::ranges::find(task.containers, status.name, &model::TaskContainer::name);
    if (found == task.containers.end()) {
      if (!status.ephemeral || task.containers.size() >= model::kTaskContainersMax) continue;
      if (status.name.size() > model::kTaskNameBytesMax) continue;
      found = task.containers.emplace(task.containers.end());
      found->name = status.name;
      found->role = ContainerRole::kEphemeral;
    }
    take_status(status, *found);
  }

  read_eviction(reader);
  read_resource_status(reader);
  for (const SettingKey& each : kAnnotations) reader.setting("annotation", each, reader.annotation(each.key));
  for (const SettingKey& each : kLabels) reader.setting("label", each, pod.meta.labels.find(each.key));
  return out;
}

model::Task placed(const model::Task& task, const linux::LivePod* live) {
  model::Task out = task;
  if (live == nullptr) return out;
  out.path = live->path;
  const std::size_t listed = out.containers.size();
  for (const linux::LiveContainer& there : live->containers) {
    const auto end = out.containers.begin() + static_cast<std::ptrdiff_t>(listed);
    const auto found = std::find_if(out.containers.begin(), end, [&](const auto& each) { return each.id == there.id; });
    if (found != end) {
      found->path = there.path;
    } else if (out.containers.size() < model::kTaskContainersMax) {
      model::TaskContainer& added = out.containers.emplace_back();
      added.role = ContainerRole::kUnlisted;
      added.id = there.id;
      added.path = there.path;
    }
  }
  return out;
}

}  // namespace tidemark::agent
