#include "agent/tasks/host_applications.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "agent/tasks/group_path.h"
#include "base/json.h"
#include "base/text.h"
#include "model/task.h"

namespace tidemark::agent {
namespace {

using Base = HostApplication::Base;

constexpr std::string_view kLatencySensitive = "host-latency-sensitive";
constexpr std::string_view kBestEffort = "host-best-effort";

constexpr std::array<std::pair<std::string_view, Base>, 5> kBases{{{"", Base::kRoot},
                                                                   {"CgroupRoot", Base::kRoot},
                                                                   {"Kubepods", Base::kKubepods},
                                                                   {"KubepodsBurstable", Base::kBurstable},
                                                                   {"KubepodsBesteffort", Base::kBesteffort}}};

void read_group(base::JsonReader& json, HostApplication& out) {
  if (json.peek() == base::JsonReader::Type::kNull) {
    json.skip();
    return;
  }
  out.named_group = true;
  json.object([&](std::string_view key) {
    if (key == "base") {
      std::string text;
      json.string(text);
      const auto found = std::ranges::find(kBases, text, [](const auto& each) { return each.first; });
      if (found == kBases.end()) {
        return json.fail_here("wanted CgroupRoot, Kubepods, KubepodsBurstable or KubepodsBesteffort");
      }
      out.base = found->second;
    } else if (key == "parentDir") {
      json.string(out.parent_dir);
    } else if (key == "relativePath") {
      json.string(out.relative_path);
    } else {
      json.skip();
    }
  });
}

void read_application(base::JsonReader& json, HostApplication& out) {
  json.object([&](std::string_view key) {
    std::string text;
    if (key == "name") {
      json.string(out.name);
    } else if (key == "priority") {
      json.string(text);
      out.priority = model::parse_priority_class(text);
    } else if (key == "qos") {
      json.string(text);
      out.qos = model::parse_qos(text);
    } else if (key == "cgroupPath") {
      read_group(json, out);
    } else {
      json.skip();
    }
  });
}

bool is_kubelets(std::string_view path, const linux::Kubepods* kubepods) {
  return kubepods != nullptr && std::ranges::any_of(linux::kKubeQosLevels, [&](linux::KubeQos level) {
           return kubepods->qos_path(level) == path;
         });
}

std::string_view default_parent(model::Qos qos) {
  switch (qos) {
    case model::Qos::kLse:
    case model::Qos::kLsr:
    case model::Qos::kLs:
      return kLatencySensitive;
    case model::Qos::kBe:
      return kBestEffort;
    case model::Qos::kNone:
    case model::Qos::kSystem:
      return "";
  }
  return "";
}

std::optional<linux::KubeQos> level_of(Base base) {
  switch (base) {
    case Base::kRoot:
      return std::nullopt;
    case Base::kKubepods:
      return linux::KubeQos::kGuaranteed;
    case Base::kBurstable:
      return linux::KubeQos::kBurstable;
    case Base::kBesteffort:
      return linux::KubeQos::kBestEffort;
  }
  return std::nullopt;
}

model::Task task_of(const HostApplication& said, std::string path) {
  model::Task task;
  task.kind = model::TaskKind::kHostApplication;
  task.provider = model::TaskProviderKind::kHostApplications;
  task.identity.source = "host";
  task.identity.task = said.name;
  task.name = said.name;
  task.path = std::move(path);
  task.qos_raw = task.qos = said.qos;
  task.kube_qos = said.qos == model::Qos::kBe ? model::KubeQos::kBestEffort : model::KubeQos::kBurstable;
  task.priority_raw = said.priority;
  task.priority = model::priority_class_with_default(said.priority, said.qos);
  task.priority_value = model::default_priority(task.priority);
  task.phase = model::PodPhase::kRunning;
  task.below_besteffort = said.named_group && said.base == Base::kBesteffort && said.qos == model::Qos::kBe;
  return task;
}

}  // namespace

Result<std::vector<HostApplication>> read_host_applications(std::string_view node_slo_spec) {
  std::vector<HostApplication> out;
  if (node_slo_spec.empty()) return out;
  bool too_many = false, too_long = false;
  base::JsonReader json(node_slo_spec);
  json.object([&](std::string_view key) {
    if (key != "hostApplications") {
      json.skip();
      return;
    }
    out.clear();
    json.array([&] {
      HostApplication application;
      read_application(json, application);
      too_long = too_long || application.name.size() > model::kTaskNameBytesMax ||
                 application.parent_dir.size() > model::kTaskPathBytesMax ||
                 application.relative_path.size() > model::kTaskPathBytesMax;
      too_many = too_many || out.size() == kHostApplicationsMax;
      if (!too_many) out.push_back(std::move(application));
    });
  });
  if (auto end = json.finish(); !end) return fail(std::move(end).error().within("hostApplications of a NodeSLO"));
  if (too_many) return fail(ErrorKind::kInvalid, "hostApplications of a NodeSLO: more than ", kHostApplicationsMax);
  if (too_long) return fail(ErrorKind::kInvalid, "hostApplications of a NodeSLO: a name or a path that is too long");
  return out;
}

Result<std::optional<std::string>> group_of(const HostApplication& said, const linux::Kubepods* kubepods) {
  std::string path;
  if (!said.named_group) {
    TM_TRY(path, group_path({default_parent(said.qos), said.name}));
    if (said.name.empty()) path.clear();
  } else if (const auto level = level_of(said.base)) {
    if (kubepods == nullptr) return std::nullopt;
    TM_TRY(path, group_path({kubepods->qos_path(*level), said.parent_dir, said.relative_path}));
  } else {
    TM_TRY(path, group_path({said.parent_dir, said.relative_path}));
  }
  if (path.empty())
    return fail(ErrorKind::kInvalid, "its group is the root, which is the whole node: name one below it");
  if (is_kubelets(path, kubepods)) {
    return fail(ErrorKind::kInvalid, "its group ", base::in_quotes(path),
                " is the kubelet's, with pods in it: name one below it");
  }
  return path;
}

HostApplications::HostApplications(PodGroups& groups, base::Log log) : groups_(groups), log_(std::move(log)) {
  provided_.change = 1;
  groups_.on_change([this] { place(); });
}

Result<void> HostApplications::set(std::string_view node_slo_spec, base::MonotonicTime now) {
  auto said = read_host_applications(node_slo_spec);
  if (!said) {
    ++provided_.lists_refused;
    if (provided_.state != ProviderState::kHeld) {
      provided_.state = ProviderState::kHeld;
      ++provided_.change;
    }
    return fail(std::move(said).error());
  }
  provided_.confirmed = now;
  if (provided_.state != ProviderState::kCurrent) {
    provided_.state = ProviderState::kCurrent;
    ++provided_.change;
  }
  if (*said == said_) return {};
  said_ = *std::move(said);
  place();
  return {};
}

void HostApplications::place() {
  std::vector<TaskPointer> tasks;
  tasks.reserve(said_.size());
  std::vector<std::string> refused;
  const auto refuse = [&](const HostApplication& one, std::string_view why) {
    refused.push_back(base::cat("host application ", base::in_quotes(one.name), ": ", why));
  };
  for (const HostApplication& each : said_) {
    auto path = group_of(each, groups_.kubepods());
    if (!path) {
      refuse(each, path.error().message);
      continue;
    }
    if (std::ranges::any_of(tasks, [&](const TaskPointer& task) { return task->name == each.name; })) {
      refuse(each, "another one has the name: give each its own");
      continue;
    }
    model::Task task = task_of(each, std::move(*path).value_or(""));
    // An unchanged task keeps its pointer.
    const auto same = std::ranges::find_if(provided_.tasks, [&](const TaskPointer& before) { return *before == task; });
    tasks.push_back(same != provided_.tasks.end() ? *same : std::make_shared<const model::Task>(std::move(task)));
  }
  provided_.refused = refused.size();
  for (const std::string& why : refused_.take(std::move(refused))) {
    log_.warn("ignoring a host application", {{"error", why}});
  }
  if (tasks == provided_.tasks) return;
  provided_.tasks = std::move(tasks);
  ++provided_.change;
}

}  // namespace tidemark::agent
