// The built-in kinds. Columns are those that kubectl's users know; names, not code, are what differs between kinds.
#include "kube/memory/kinds.h"

#include "base/check.h"

namespace tidemark::kube::memory {

namespace {

using Columns = std::vector<Column>;

const Column kName{"Name", "@name", 0, "string", "name", ""};
const Column kAge{"Age", "@age", 0, "string", "", ""};
const Column kContainers{"Containers", "@template_containers", 1, "string", "", ""};
const Column kImages{"Images", "@template_images", 1, "string", "", ""};
const Column kSelector{"Selector", "@selector", 1, "string", "", ""};

struct Row {
  const char* group;
  const char* plural;
  const char* name;
  const char* short_names;  // joined by commas
  const char* flags;        // n namespaced, s status, g generation, l name is a label, p name is a path segment,
                            // u PUT creates, a in category "all", x only POST, d name is a DNS-1035 label, k scale
  Columns columns;
  std::vector<SelectField> fields = {};
  std::vector<std::string> subresources = {};
  const char* type = nullptr;     // where it is not the name
  const char* storage = nullptr;  // where it is not the plural word and group
};

std::vector<SelectField> event_fields(const char* object) {
  std::vector<SelectField> fields;
  for (const char* member : {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"})
    fields.push_back({std::string(object) + "." + member, std::string("involvedObject.") + member});
  fields.push_back({"reason", "reason"});
  fields.push_back({"reportingComponent", "reportingComponent"});
  fields.push_back({"source", "source.component"});
  fields.push_back({"type", "type"});
  return fields;
}

const Columns kEventColumns = {{"Last Seen", "@event_last_seen"},
                               {"Type", ".type"},
                               {"Reason", ".reason"},
                               {"Object", "@event_object"},
                               {"Subobject", ".involvedObject.fieldPath", 1},
                               {"Source", "@event_source", 1},
                               {"Message", "@event_message"},
                               {"First Seen", "@event_first_seen", 1},
                               {"Count", "@event_count", 1},
                               {"Name", "@name", 1, "string", "name"}};

const Row kRows[] = {
    {"",
     "namespaces",
     "Namespace",
     "ns",
     "sl",
     {kName, {"Status", ".status.phase"}, kAge},
     {{"status.phase", "status.phase"}},
     {"finalize"}},
    {"",
     "nodes",
     "Node",
     "no",
     "s",
     {kName,
      {"Status", "@node_status"},
      {"Roles", "@node_roles"},
      kAge,
      {"Version", ".status.nodeInfo.kubeletVersion"},
      {"Internal-IP", "@node_internal_ip", 1},
      {"External-IP", "@node_external_ip", 1},
      {"OS-Image", "@node_os", 1},
      {"Kernel-Version", "@node_kernel", 1},
      {"Container-Runtime", "@node_runtime", 1}},
     {{"spec.unschedulable", "spec.unschedulable"}}},
    {"",
     "pods",
     "Pod",
     "po",
     "nsga",
     {kName,
      {"Ready", "@pod_ready"},
      {"Status", "@pod_status"},
      {"Restarts", "@pod_restarts"},
      kAge,
      {"IP", "@pod_ip", 1},
      {"Node", "@pod_node", 1},
      {"Nominated Node", "@pod_nominated", 1},
      {"Readiness Gates", "@pod_gates", 1}},
     {{"spec.nodeName", "spec.nodeName"},
      {"spec.restartPolicy", "spec.restartPolicy"},
      {"spec.schedulerName", "spec.schedulerName"},
      {"spec.serviceAccountName", "spec.serviceAccountName"},
      {"spec.hostNetwork", "spec.hostNetwork"},
      {"status.phase", "status.phase"},
      {"status.podIP", "status.podIP"},
      {"status.podIPs", "status.podIP"},
      {"status.nominatedNodeName", "status.nominatedNodeName"}},
     {"binding", "eviction", "ephemeralcontainers", "resize"}},
    {"", "configmaps", "ConfigMap", "cm", "n", {kName, {"Data", "@data_count"}, kAge}},
    {"", "secrets", "Secret", "", "n", {kName, {"Type", ".type"}, {"Data", "@data_count"}, kAge}, {{"type", "type"}}},
    {"",
     "services",
     "Service",
     "svc",
     "nsadu",
     {kName,
      {"Type", ".spec.type"},
      {"Cluster-IP", "@service_ip"},
      {"External-IP", "@service_external_ip"},
      {"Port(s)", "@service_ports"},
      kAge,
      {"Selector", "@service_selector", 1}},
     {{"spec.clusterIP", "spec.clusterIP"}, {"spec.type", "spec.type"}}},
    {"", "endpoints", "Endpoints", "ep", "nu", {kName, {"Endpoints", "@endpoints"}, kAge}},
    {"", "events", "Event", "ev", "nu", kEventColumns, event_fields("involvedObject"), {}, "Event", "events"},
    {"", "serviceaccounts", "ServiceAccount", "sa", "n", {kName, {"Secrets", "@secrets_count"}, kAge}},
    {"",
     "persistentvolumes",
     "PersistentVolume",
     "pv",
     "s",
     {kName,
      {"Capacity", ".spec.capacity.storage"},
      {"Access Modes", "@access_modes"},
      {"Reclaim Policy", ".spec.persistentVolumeReclaimPolicy"},
      {"Status", ".status.phase"},
      {"Claim", "@pv_claim"},
      {"StorageClass", ".spec.storageClassName"},
      {"Reason", ".status.reason"},
      kAge}},
    {"",
     "persistentvolumeclaims",
     "PersistentVolumeClaim",
     "pvc",
     "ns",
     {kName,
      {"Status", ".status.phase"},
      {"Volume", ".spec.volumeName"},
      {"Capacity", ".status.capacity.storage"},
      {"Access Modes", "@access_modes"},
      {"StorageClass", ".spec.storageClassName"},
      kAge}},
    {"", "resourcequotas", "ResourceQuota", "quota", "ns", {kName, kAge}},
    {"", "limitranges", "LimitRange", "limits", "nu", {kName, {"Created At", ".metadata.creationTimestamp"}}},
    {"", "podtemplates", "PodTemplate", "", "n", {kName, kContainers, kImages}},
    {"", "bindings", "Binding", "", "nx", {}},
    {"apps",
     "deployments",
     "Deployment",
     "deploy",
     "nsga",
     {kName,
      {"Ready", "@deployment_ready"},
      {"Up-to-date", "@int.status.updatedReplicas"},
      {"Available", "@int.status.availableReplicas"},
      kAge,
      kContainers,
      kImages,
      kSelector}},
    {"apps",
     "replicasets",
     "ReplicaSet",
     "rs",
     "nsga",
     {kName,
      {"Desired", "@int.spec.replicas"},
      {"Current", "@int.status.replicas"},
      {"Ready", "@int.status.readyReplicas"},
      kAge,
      kContainers,
      kImages,
      kSelector},
     {{"status.replicas", "status.replicas"}}},
    {"apps",
     "daemonsets",
     "DaemonSet",
     "ds",
     "nsga",
     {kName,
      {"Desired", "@int.status.desiredNumberScheduled"},
      {"Current", "@int.status.currentNumberScheduled"},
      {"Ready", "@int.status.numberReady"},
      {"Up-to-date", "@int.status.updatedNumberScheduled"},
      {"Available", "@int.status.numberAvailable"},
      {"Node Selector", "@node_selector"},
      kAge,
      kContainers,
      kImages,
      kSelector}},
    {"apps",
     "statefulsets",
     "StatefulSet",
     "sts",
     "nsga",
     {kName, {"Ready", "@statefulset_ready"}, kAge, kContainers, kImages}},
    {"batch",
     "jobs",
     "Job",
     "",
     "nsga",
     {kName,
      {"Status", "@job_status"},
      {"Completions", "@job_completions"},
      {"Duration", "@job_duration"},
      kAge,
      kContainers,
      kImages,
      kSelector},
     {{"status.successful", "status.succeeded"}}},
    {"batch",
     "cronjobs",
     "CronJob",
     "cj",
     "nsga",
     {kName,
      {"Schedule", ".spec.schedule"},
      {"Timezone", "@cronjob_zone"},
      {"Suspend", "@cronjob_suspend"},
      {"Active", "@cronjob_active"},
      {"Last Schedule", "@cronjob_last"},
      kAge}},
    {"coordination.k8s.io", "leases", "Lease", "", "nu", {kName, {"Holder", ".spec.holderIdentity"}, kAge}},
    {"scheduling.k8s.io",
     "priorityclasses",
     "PriorityClass",
     "pc",
     "",
     {kName,
      {"Value", "@int.value"},
      {"Global-Default", "@bool.globalDefault"},
      kAge,
      {"PreemptionPolicy", ".preemptionPolicy"}}},
    {"policy",
     "poddisruptionbudgets",
     "PodDisruptionBudget",
     "pdb",
     "nsg",
     {kName,
      {"Min Available", "@pdb_min"},
      {"Max Unavailable", "@pdb_max"},
      {"Allowed Disruptions", "@int.status.disruptionsAllowed"},
      kAge}},
    {"rbac.authorization.k8s.io", "roles", "Role", "", "npu", {kName, {"Created At", ".metadata.creationTimestamp"}}},
    {"rbac.authorization.k8s.io", "rolebindings", "RoleBinding", "", "npu", {kName, {"Role", "@role_ref"}, kAge}},
    {"rbac.authorization.k8s.io",
     "clusterroles",
     "ClusterRole",
     "",
     "pu",
     {kName, {"Created At", ".metadata.creationTimestamp"}}},
    {"rbac.authorization.k8s.io",
     "clusterrolebindings",
     "ClusterRoleBinding",
     "",
     "pu",
     {kName, {"Role", "@role_ref"}, kAge}},
    {"storage.k8s.io",
     "storageclasses",
     "StorageClass",
     "sc",
     "",
     {kName,
      {"Provisioner", ".provisioner"},
      {"ReclaimPolicy", ".reclaimPolicy"},
      {"VolumeBindingMode", ".volumeBindingMode"},
      kAge}},
    {"events.k8s.io",
     "events",
     "Event",
     "ev",
     "nu",
     kEventColumns,
     event_fields("regarding"),
     {},
     "events_Event",
     "events"},
    {"apiextensions.k8s.io",
     "customresourcedefinitions",
     "CustomResourceDefinition",
     "crd,crds",
     "sg",
     {kName, {"Created At", ".metadata.creationTimestamp", 0, "date"}}},
};

bool has(const char* flags, char flag) {
  return std::string_view(flags).find(flag) != std::string_view::npos;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// In the order in which the core Event's members are stored.
const std::vector<std::pair<std::string, std::string>> kEventRenames = {{"regarding", "involvedObject"},
                                                                        {"note", "message"},
                                                                        {"reportingController", "reportingComponent"},
                                                                        {"deprecatedSource", "source"},
                                                                        {"deprecatedFirstTimestamp", "firstTimestamp"},
                                                                        {"deprecatedLastTimestamp", "lastTimestamp"},
                                                                        {"deprecatedCount", "count"}};

// Kinds that are stored without a controller that acts on them. Writers get a warning.
struct LeftOut {
  const char* group;
  const char* plural;  // "": every kind of the group
  const char* told;
};

const LeftOut kLeftOut[] = {
    {"", "resourcequotas", "this API server counts nothing against a resource quota"},
    {"", "limitranges", "this API server applies no limit range: pods get no defaults from it and no limits"},
    {"", "services", "this API server has no service network: a service gets no address and no endpoints"},
    {"", "persistentvolumes", "this API server binds no volumes to claims"},
    {"", "persistentvolumeclaims", "this API server binds no volumes to claims: the claim stays Pending"},
    {"storage.k8s.io", "storageclasses", "this API server provisions no volumes"},
    {"rbac.authorization.k8s.io", "", "this API server enforces no RBAC: every authenticated user may do everything"},
    {"apps", "", "this API server runs no controllers: no pods are made from it"},
    {"batch", "", "this API server runs no controllers: no pods are made from it"},
};

std::string left_out(const Kind& kind) {
  for (const LeftOut& row : kLeftOut)
    if (kind.group == row.group && (*row.plural == '\0' || kind.plural == row.plural)) return row.told;
  return {};
}

}  // namespace

std::vector<Kind> builtin_kinds() {
  std::vector<Kind> kinds;
  for (const Row& row : kRows) {
    Kind kind;
    kind.group = row.group;
    kind.plural = row.plural;
    kind.name = row.name;
    kind.list_name = kind.name + "List";
    kind.singular = lower_case(kind.name);
    std::string_view words = row.short_names;
    while (!words.empty()) {
      const std::size_t comma = words.find(',');
      kind.short_names.emplace_back(words.substr(0, comma));
      words = comma == std::string_view::npos ? std::string_view() : words.substr(comma + 1);
    }
    kind.namespaced = has(row.flags, 'n');
    kind.generation = has(row.flags, 'g');
    kind.create_on_update = has(row.flags, 'u');
    kind.readable = !has(row.flags, 'x');
    if (has(row.flags, 'a')) kind.categories = {"all"};
    if (kind.plural == "customresourcedefinitions") kind.categories = {"api-extensions"};
    if (has(row.flags, 'l')) kind.name_rule = NameRule::kLabel;
    if (has(row.flags, 'd')) kind.name_rule = NameRule::kLabel1035;
    if (has(row.flags, 'p')) kind.name_rule = NameRule::kPathSegment;
    KindVersion version;
    version.name = "v1";
    version.status = has(row.flags, 's');
    version.columns = row.columns;
    kind.versions.push_back(std::move(version));
    kind.storage_version = "v1";
    kind.storage = row.storage != nullptr ? row.storage : kind.resource_text();
    kind.type = builtin_types().find(row.type != nullptr ? row.type : row.name);
    TM_CHECK(kind.type != nullptr, "every built-in kind has a row in the type table");
    kind.fields = row.fields;
    kind.subresources = row.subresources;
    kind.left_out = left_out(kind);
    if (kind.group == "events.k8s.io") kind.renames = kEventRenames;
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

}  // namespace tidemark::kube::memory
