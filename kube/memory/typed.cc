#include "kube/memory/typed.h"

#include <limits>
#include <optional>

#include "base/base64.h"
#include "base/clock.h"
#include "base/text.h"
#include "kube/json_index.h"
#include "model/quantity.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

// A bound against an answer as long as the request.
constexpr std::size_t kUnknownMax = 100;

std::string_view json_word(const Json& value) {
  if (value.is_bool()) return "bool";
  if (value.is_number()) return "number";
  if (value.is_string()) return "string";
  if (value.is_array()) return "array";
  return "object";
}

std::string go_word(const FieldType& type) {
  if (!type.shape.empty()) return cat(type.shape.front() == '[' ? "[]" : "map[string]", go_word(type.element()));
  switch (type.code) {
    case 's':
      return "string";
    case 'i':
      return "int32";
    case 'l':
      return "int64";
    case 'f':
      return "float64";
    case 'b':
      return "bool";
    case 'y':
      return "[]uint8";
    case '@':
      return cat("v1.", type.type->name);
    default:
      return "string";
  }
}

class Decoder {
 public:
  std::vector<std::string> unknown;
  std::optional<std::string> error;

  // `dotted` is the path without indexes, `path` with them; `owner` the struct that has the field.
  void value(Json& json, const FieldType& type, const std::string& path, const std::string& dotted,
             std::string_view owner) {
    if (error) return;
    if (!type.shape.empty()) {
      if (type.shape.front() == '[') return list(json, type, path, dotted, owner);
      return map(json, type, path, dotted, owner);
    }
    switch (type.code) {
      case '@':
        if (!json.is_object()) return mismatch(json, type, dotted, owner);
        return object(json, *type.type, path, dotted);
      case 's':
        if (!json.is_string()) mismatch(json, type, dotted, owner);
        return;
      case 'y':
        if (!json.is_string()) return mismatch(json, type, dotted, owner);
        if (auto decoded = base::read_base64(json.as_string()); !decoded.good)
          error = cat("illegal base64 data at input byte ", decoded.wrong_at);
        else
          json = base::base64_encode(decoded.bytes);  // without line ends, and the bits that stand for nothing
        return;
      case 'b':
        if (!json.is_bool()) mismatch(json, type, dotted, owner);
        return;
      case 'i':
      case 'l':
        return integer(json, type, dotted, owner);
      case 'f':
        if (!json.is_number()) mismatch(json, type, dotted, owner);
        return;
      case 'q':
        return quantity(json);
      case 'x':
        if (!json.is_int() && !json.is_string()) mismatch(json, type, dotted, owner);
        return;
      case 't':
      case 'u':
        return time(json, type, dotted, owner);
      default:
        return;  // opaque
    }
  }

  void object(Json& json, const BuiltinType& type, const std::string& path, const std::string& dotted) {
    JsonObject kept;  // not erased one by one: a hostile object has very many members
    for (auto& [key, member] : json.as_object()) {
      const BuiltinField* field = type.find(key);
      if (field == nullptr) {
        if (unknown.size() < kUnknownMax) unknown.push_back(path.empty() ? key : cat(path, ".", key));
        continue;
      }
      if (member.is_null()) continue;
      value(member, field->type, path.empty() ? key : cat(path, ".", key), dotted.empty() ? key : cat(dotted, ".", key),
            type.name);
      if (error) return;
      const bool empty =
          (member.is_array() && member.as_array().empty()) || (member.is_object() && member.as_object().empty());
      if (!empty || field->required || field->type.shape.empty())
        kept.append_unchecked(std::move(key), std::move(member));
    }
    json = std::move(kept);
  }

 private:
  void mismatch(const Json& json, const FieldType& type, const std::string& dotted, std::string_view owner) {
    error = cat("json: cannot unmarshal ", json_word(json), " into Go struct field ", owner, ".", dotted, " of type ",
                go_word(type));
  }
  void list(Json& json, const FieldType& type, const std::string& path, const std::string& dotted,
            std::string_view owner) {
    if (!json.is_array()) return mismatch(json, type, dotted, owner);
    std::size_t index = 0;
    for (Json& element : json.as_array()) {
      if (element.is_null() && type.element().code == '@') element = Json::object();
      value(element, type.element(), cat(path, "[", index++, "]"), dotted, owner);
    }
  }
  void map(Json& json, const FieldType& type, const std::string& path, const std::string& dotted,
           std::string_view owner) {
    if (!json.is_object()) return mismatch(json, type, dotted, owner);
    for (auto& [key, member] : json.as_object()) {
      if (member.is_null() && type.element().code == 's') member = "";  // Go's zero value
      value(member, type.element(), cat(path, ".", key), dotted, owner);
    }
  }
  void integer(const Json& json, const FieldType& type, const std::string& dotted, std::string_view owner) {
    if (!json.is_int()) return mismatch(json, type, dotted, owner);
    const bool fits = json.as_int() >= std::numeric_limits<std::int32_t>::min() &&
                      json.as_int() <= std::numeric_limits<std::int32_t>::max();
    if (type.code == 'i' && !fits)
      error = cat("json: cannot unmarshal number ", json.as_int(), " into Go struct field ", owner, ".", dotted,
                  " of type int32");
  }
  void quantity(Json& json) {
    const auto parsed = model::Quantity::from_json(json);
    if (!parsed) {
      error = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
      return;
    }
    json = parsed->canonical();
  }
  void time(Json& json, const FieldType& type, const std::string& dotted, std::string_view owner) {
    if (!json.is_string()) return mismatch(json, type, dotted, owner);
    const std::string& text = json.as_string();
    const bool micro = type.code == 'u';
    const auto parsed = base::parse_rfc3339(text);
    if (!parsed) {
      error = cat("parsing time ", Json(text).dump(), " as \"2006-01-02T15:04:05", micro ? ".000000" : "",
                  "Z07:00\": cannot parse it");
      return;
    }
    // Go reads exactly the six digits that it writes.
    const std::string_view rest = std::string_view(text).substr(std::string_view("2006-01-02T15:04:05").size());
    if (const std::size_t digits = rest.find_first_not_of("0123456789", 1); micro && (rest[0] != '.' || digits < 7)) {
      error = cat("parsing time ", Json(text).dump(), " as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse ",
                  Json(rest).dump(), " as \".000000\"");
      return;
    }
    json = type.code == 't' ? base::format_rfc3339(*parsed) : base::format_rfc3339_micro(*parsed);
  }
};

struct DefaultRow {
  std::string_view type;
  std::string_view field;
  const char* value;  // JSON
};

const DefaultRow kDefaults[] = {
    {"PodSpec", "restartPolicy", R"("Always")"},
    {"PodSpec", "terminationGracePeriodSeconds", "30"},
    {"PodSpec", "dnsPolicy", R"("ClusterFirst")"},
    {"PodSpec", "securityContext", "{}"},
    {"PodSpec", "schedulerName", R"("default-scheduler")"},
    {"Container", "resources", "{}"},
    {"Container", "terminationMessagePath", R"("/dev/termination-log")"},
    {"Container", "terminationMessagePolicy", R"("File")"},
    {"ContainerPort", "protocol", R"("TCP")"},
    {"Probe", "timeoutSeconds", "1"},
    {"Probe", "periodSeconds", "10"},
    {"Probe", "successThreshold", "1"},
    {"Probe", "failureThreshold", "3"},
    {"HTTPGetAction", "path", R"("/")"},
    {"HTTPGetAction", "scheme", R"("HTTP")"},
    {"ObjectFieldSelector", "apiVersion", R"("v1")"},
    {"ConfigMapVolumeSource", "defaultMode", "420"},
    {"SecretVolumeSource", "defaultMode", "420"},
    {"DownwardAPIVolumeSource", "defaultMode", "420"},
    {"ProjectedVolumeSource", "defaultMode", "420"},
    {"HostPathVolumeSource", "type", R"("")"},
    {"ServiceAccountTokenProjection", "expirationSeconds", "3600"},
    {"ServiceSpec", "type", R"("ClusterIP")"},
    {"ServiceSpec", "sessionAffinity", R"("None")"},
    {"ServicePort", "protocol", R"("TCP")"},
    {"Deployment", "status", "{}"},
    {"ReplicaSet", "status", R"({"replicas":0})"},
    {"StatefulSet", "status", R"({"replicas":0,"availableReplicas":0})"},
    {"Job", "status", "{}"},
    {"CronJob", "status", "{}"},
    {"Node", "spec", "{}"},
    {"Node", "status", "{}"},
    {"Lease", "spec", "{}"},
    {"Event", "eventTime", "null"},
    {"Event", "reportingComponent", R"("")"},
    {"Event", "reportingInstance", R"("")"},
    {"NodeStatus", "daemonEndpoints", R"({"kubeletEndpoint":{"Port":0}})"},
    {"NodeStatus", "nodeInfo",
     R"({"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""})"},
    {"DeploymentSpec", "replicas", "1"},
    {"DeploymentSpec", "revisionHistoryLimit", "10"},
    {"DeploymentSpec", "progressDeadlineSeconds", "600"},
    {"DeploymentSpec", "strategy", "{}"},
    {"DeploymentStrategy", "type", R"("RollingUpdate")"},
    {"ReplicaSetSpec", "replicas", "1"},
    {"StatefulSetSpec", "replicas", "1"},
    {"StatefulSetSpec", "podManagementPolicy", R"("OrderedReady")"},
    {"StatefulSetSpec", "revisionHistoryLimit", "10"},
    {"StatefulSetSpec", "updateStrategy", R"({"type":"RollingUpdate","rollingUpdate":{"partition":0}})"},
    {"DaemonSetSpec", "revisionHistoryLimit", "10"},
    {"DaemonSetSpec", "updateStrategy",
     R"({"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1,"maxSurge":0}})"},
    {"JobSpec", "backoffLimit", "6"},
    {"JobSpec", "completionMode", R"("NonIndexed")"},
    {"JobSpec", "suspend", "false"},
    {"CronJobSpec", "concurrencyPolicy", R"("Allow")"},
    {"CronJobSpec", "suspend", "false"},
    {"CronJobSpec", "successfulJobsHistoryLimit", "3"},
    {"CronJobSpec", "failedJobsHistoryLimit", "1"},
    {"Secret", "type", R"("Opaque")"},
    {"PersistentVolumeClaimSpec", "volumeMode", R"("Filesystem")"},
    {"PersistentVolumeSpec", "volumeMode", R"("Filesystem")"},
    {"PersistentVolumeSpec", "persistentVolumeReclaimPolicy", R"("Retain")"},
    {"PriorityClass", "preemptionPolicy", R"("PreemptLowerPriority")"},
    {"StorageClass", "reclaimPolicy", R"("Delete")"},
    {"StorageClass", "volumeBindingMode", R"("Immediate")"},
    {"CustomResourceDefinitionSpec", "conversion", R"({"strategy":"None"})"},
};

// A formula for what is not a constant.
void computed_defaults(Json& object, std::string_view type) {
  if (type == "Container" && object.at("imagePullPolicy") == nullptr) {
    const std::string_view image = object.text_at("image");
    const std::size_t slash = image.rfind('/');
    const std::string_view last = slash == std::string_view::npos ? image : image.substr(slash + 1);
    const bool digest = last.find('@') != std::string_view::npos;
    const bool tagged = last.find(':') != std::string_view::npos && !last.ends_with(":latest");
    object["imagePullPolicy"] = digest || tagged ? "IfNotPresent" : "Always";
  } else if (type == "Pod") {
    // Only a whole pod says what it requests where it only has limits; a template does not.
    Json* spec = object.as_object().find("spec");
    if (spec == nullptr || !spec->is_object()) return;
    if (spec->at("enableServiceLinks") == nullptr) (*spec)["enableServiceLinks"] = true;
    for (const char* list : {"containers", "initContainers"}) {
      Json* containers = spec->as_object().find(list);
      if (containers == nullptr || !containers->is_array()) continue;
      for (Json& container : containers->as_array()) {
        const Json* limits = container.at("resources", "limits");
        if (limits == nullptr || !limits->is_object() || limits->as_object().empty()) continue;
        const Json copy = *limits;
        Json& requests = container["resources"]["requests"];
        if (!requests.is_object()) requests = Json::object();
        JsonMembers members(requests.as_object());
        for (const auto& [name, amount] : copy.as_object())
          if (members.find(name) == nullptr) members.add(name, amount);
      }
    }
  } else if (type == "DeploymentStrategy" && object.text_at("type") == "RollingUpdate" &&
             object.at("rollingUpdate") == nullptr) {
    object["rollingUpdate"] = Json::object({{"maxUnavailable", "25%"}, {"maxSurge", "25%"}});
  } else if (type == "NodeStatus") {
    const Json* capacity = object.at("capacity");
    if (capacity != nullptr && object.at("allocatable") == nullptr) object["allocatable"] = Json(*capacity);
  } else if (type == "ServicePort" && object.at("targetPort") == nullptr && object.at("port") != nullptr) {
    object["targetPort"] = Json(*object.at("port"));
  } else if (type == "JobSpec") {
    // With a parallelism alone it is a job whose pods find out together when all is done.
    if (object.at("parallelism") == nullptr) {
      if (object.at("completions") == nullptr) object["completions"] = 1;
      object["parallelism"] = 1;
    }
    // How a pod failed is known when it has.
    if (object.at("podReplacementPolicy") == nullptr)
      object["podReplacementPolicy"] = object.at("podFailurePolicy") != nullptr ? "Failed" : "TerminatingOrFailed";
  } else if (type == "RoleRef" && object.text_at("apiGroup").empty()) {
    object["apiGroup"] = "rbac.authorization.k8s.io";
  } else if (type == "Subject" && object.at("apiGroup") == nullptr && object.text_at("kind") != "ServiceAccount") {
    object["apiGroup"] = "rbac.authorization.k8s.io";
  }
}

void default_value(Json& json, const FieldType& type) {
  if (!type.shape.empty()) {
    if (json.is_array()) {
      for (Json& element : json.as_array()) default_value(element, type.element());
    } else if (json.is_object()) {
      for (auto& [key, member] : json.as_object()) default_value(member, type.element());
    }
    return;
  }
  if (type.code == '@' && json.is_object()) apply_defaults(json, *type.type);
}

}  // namespace

Answer<std::vector<std::string>> decode_typed(Json& tree, const BuiltinType& type) {
  Decoder decoder;
  if (!tree.is_object()) return refuse(bad_request("the object provided is not a JSON object"));
  decoder.object(tree, type, "", "");
  if (decoder.error) return refuse(bad_request(std::move(*decoder.error)));
  return std::move(decoder.unknown);
}

void apply_defaults(Json& tree, const BuiltinType& type) {
  for (const DefaultRow& row : kDefaults) {
    if (row.type == type.name && tree.at(row.field) == nullptr) tree[row.field] = *Json::parse(row.value);
  }
  computed_defaults(tree, type.name);
  for (auto& [key, member] : tree.as_object()) {
    const BuiltinField* field = type.find(key);
    if (field != nullptr) default_value(member, field->type);
  }
}

}  // namespace tidemark::kube::memory
