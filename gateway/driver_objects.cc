#include "gateway/driver_objects.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "gateway/properties.h"
#include "model/names.h"
#include "model/qos.h"
#include "policy/admission/translate.h"

namespace tidemark::gateway {
namespace {

using base::cat;

constexpr std::string_view kConfDir = "/opt/spark/conf";
constexpr std::string_view kPropertiesFile = "spark.properties";
constexpr std::string_view kConfVolume = "spark-conf-volume-driver";
constexpr std::size_t kLabelMax = 63;
constexpr std::string_view kServiceSuffix = "-driver-svc";
constexpr std::int64_t kOverheadMinMib = 384;
constexpr std::int64_t kPortMax = 65535;
constexpr int kFileMode = 0644;

constexpr std::string_view kDriver = "spark.kubernetes.driver.";
constexpr std::string_view kVolumes = "spark.kubernetes.driver.volumes.";
constexpr std::string_view kSecrets = "spark.kubernetes.driver.secrets.";
constexpr std::string_view kSecretKeys = "spark.kubernetes.driver.secretKeyRef.";

// Properties that name files of the gateway or belong to it, by prefix.
constexpr std::array<std::string_view, 7> kRefused = {
    "spark.kubernetes.kerberos.krb5.path",
    "spark.kerberos.",
    "spark.kubernetes.authenticate.submission.",
    "spark.kubernetes.authenticate.driver.caCertFile",
    "spark.kubernetes.authenticate.driver.clientKeyFile",
    "spark.kubernetes.authenticate.driver.clientCertFile",
    "spark.kubernetes.driver.pod.name",
};
// Files that spark-submit reads.
constexpr std::array<std::string_view, 2> kTemplates = {"spark.kubernetes.driver.podTemplateFile",
                                                        "spark.kubernetes.executor.podTemplateFile"};
// What only spark-submit translates, by prefix.
constexpr std::array<std::string_view, 7> kSparkSubmitOnly = {
    kTemplates[0],
    kTemplates[1],
    "spark.kubernetes.kerberos.",
    "spark.kubernetes.hadoop.configMapName",
    "spark.kubernetes.local.dirs.tmpfs",
    "spark.driver.resource.",
    "spark.kubernetes.driver.pod.featureSteps",
};
constexpr std::array<std::string_view, 4> kVolumeTypes = {"hostPath", "emptyDir", "persistentVolumeClaim", "nfs"};

// "a-b" of "A  B": what names of objects allow.
std::string plain_name(std::string_view text) {
  std::string out;
  for (const char c : base::lower(base::trim(text))) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (good) {
      out += c;
    } else if (!out.ends_with('-')) {
      out += '-';
    }
  }
  return out;
}

std::string strip_dashes(std::string text) {
  while (text.starts_with('-')) text.erase(0, 1);
  while (text.ends_with('-')) text.pop_back();
  return text;
}

// Pairs of conf with the prefix, without it.
std::map<std::string, std::string> with_prefix(const SparkJob& job, std::string_view prefix) {
  std::map<std::string, std::string> out;
  for (auto at = job.conf.lower_bound(std::string(prefix)); at != job.conf.end() && at->first.starts_with(prefix);
       ++at) {
    out[at->first.substr(prefix.size())] = at->second;
  }
  return out;
}

std::string driver_conf(const SparkJob& job, std::string_view key, std::string_view shared_key,
                        std::string_view otherwise) {
  return std::string(job.conf_or(cat(kDriver, key), job.conf_or(shared_key, otherwise)));
}

bool is_true(const std::map<std::string, std::string>& pairs, const std::string& key) {
  const auto at = pairs.find(key);
  return at != pairs.end() && at->second == "true";
}

std::string memory_overhead_factor(const SparkJob& job) {
  const std::string_view otherwise = job.is_python() ? "0.4" : "0.1";
  return std::string(job.conf_or("spark.driver.memoryOverheadFactor",
                                 job.conf_or("spark.kubernetes.memoryOverheadFactor", otherwise)));
}

// As Spark computes it, with a double.
std::int64_t overhead_mib(const SparkJob& job, std::int64_t memory) {
  if (const auto given = memory_mib(job.conf_or("spark.driver.memoryOverhead", ""))) return *given;
  const double factor = base::parse_double(memory_overhead_factor(job)).value_or(0.1);
  return std::max(static_cast<std::int64_t>(factor * static_cast<double>(memory)), kOverheadMinMib);
}

Json name_value(std::string_view name, std::string_view value) {
  return Json::object({{"name", name}, {"value", value}});
}

Json port(std::string_view name, std::int64_t number) {
  return Json::object({{"containerPort", number}, {"name", name}, {"protocol", "TCP"}});
}

Json service_port(std::string_view name, std::int64_t number) {
  return Json::object({{"name", name}, {"port", number}, {"targetPort", number}});
}

struct Ports {
  std::int64_t driver, block_manager, ui, connect;
};
Ports ports_of(const SparkJob& job) {
  const auto number = [&](std::string_view key, std::int64_t otherwise) {
    return base::parse_int(job.conf_or(key, "")).value_or(otherwise);
  };
  return {number("spark.driver.port", 7078),
          number("spark.driver.blockManager.port", number("spark.blockManager.port", 7079)),
          number("spark.ui.port", 4040), number("spark.connect.grpc.binding.port", 15002)};
}

// Of the image: 4.1 or newer for (4, 1).
bool is_spark_since(const KubernetesOptions& options, std::int64_t major, std::int64_t minor) {
  const auto parts = base::split(options.spark_version, '.');
  const auto part = [&](std::size_t at) { return at < parts.size() ? base::parse_int(parts[at]).value_or(0) : 0; };
  return std::pair(part(0), part(1)) >= std::pair(major, minor);
}

// The ports of container and Service, as `make` writes each of them.
Json ports_json(const SparkJob& job, const KubernetesOptions& options, Json (*make)(std::string_view, std::int64_t)) {
  const Ports ports = ports_of(job);
  Json out = Json::array(
      {make("driver-rpc-port", ports.driver), make("blockmanager", ports.block_manager), make("spark-ui", ports.ui)});
  if (is_spark_since(options, 4, 1)) out.as_array().push_back(make("spark-connect", ports.connect));
  return out;
}

struct Volume {
  std::string name;
  Json mount;
  Json source;  // the volume
};

std::optional<Volume> volume_of(std::string_view type, const std::string& name,
                                const std::map<std::string, std::string>& said) {
  const auto option = [&](const std::string& key) {
    const auto at = said.find(key);
    return at == said.end() ? std::string() : at->second;
  };
  Volume out;
  out.name = name;
  out.mount = Json::object({{"mountPath", option("mount.path")}, {"name", name}});
  out.mount["readOnly"] = Json(is_true(said, "mount.readOnly"));
  out.mount["subPath"] = Json(option("mount.subPath"));
  Json source = Json::object();
  if (type == "hostPath") {
    source["path"] = Json(option("options.path"));
    source["type"] = Json(option("options.type"));
  } else if (type == "persistentVolumeClaim") {
    source["claimName"] = Json(option("options.claimName"));
    source["readOnly"] = Json(is_true(said, "mount.readOnly"));
  } else if (type == "nfs") {
    source["path"] = Json(option("options.path"));
    source["server"] = Json(option("options.server"));
  } else if (type == "emptyDir") {
    source["medium"] = Json(option("options.medium"));
    if (const auto limit = option("options.sizeLimit"); !limit.empty()) source["sizeLimit"] = Json(limit);
  } else {
    return std::nullopt;
  }
  out.source = Json::object({{type, std::move(source)}, {"name", name}});
  return out;
}

// By type and name of the volume: its settings.
std::map<std::pair<std::string, std::string>, std::map<std::string, std::string>> volume_settings(const SparkJob& job) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::string>> out;
  for (const auto& [key, value] : with_prefix(job, kVolumes)) {
    const auto type_end = key.find('.');
    const auto name_end = key.find('.', type_end == std::string::npos ? type_end : type_end + 1);
    if (name_end == std::string::npos) continue;
    out[{key.substr(0, type_end), key.substr(type_end + 1, name_end - type_end - 1)}][key.substr(name_end + 1)] = value;
  }
  return out;
}

std::map<std::string, std::string> driver_properties(const SparkJob& job, const DriverNames& names,
                                                     const KubernetesOptions& options, std::int64_t submit_time_ms) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : job.conf) {
    if (!key.starts_with(kOwnPrefix)) out[key] = value;
  }
  const Ports ports = ports_of(job);
  out["spark.master"] = cat("k8s://", options.master);
  out["spark.submit.deployMode"] = "cluster";
  out["spark.app.id"] = names.app_id;
  out["spark.app.submitTime"] = cat(submit_time_ms);
  out["spark.driver.host"] = cat(names.service, ".", names.ns, ".svc");
  out["spark.driver.port"] = cat(ports.driver);
  out["spark.driver.blockManager.port"] = cat(ports.block_manager);
  out["spark.kubernetes.driver.pod.name"] = names.pod;
  out["spark.kubernetes.submitInDriver"] = "true";
  out["spark.kubernetes.resource.type"] = job.is_python() ? "python" : "java";
  out["spark.kubernetes.memoryOverheadFactor"] = memory_overhead_factor(job);
  out.try_emplace("spark.submit.pyFiles", "");
  if (!job.is_python()) {
    std::string& jars = out["spark.jars"];
    jars += cat(jars.empty() ? "" : ",", job.file);
  }
  return out;
}

Json env_of(const SparkJob& job, const DriverNames& names) {
  Json env = Json::array({name_value("SPARK_USER", job.user), name_value("SPARK_APPLICATION_ID", names.app_id)});
  auto& list = env.as_array();
  for (const auto& [name, value] : with_prefix(job, "spark.kubernetes.driverEnv.")) {
    list.push_back(name_value(name, value));
  }
  list.push_back(Json::object(
      {{"name", "SPARK_DRIVER_BIND_ADDRESS"},
       {"valueFrom",
        Json::object({{"fieldRef", Json::object({{"apiVersion", "v1"}, {"fieldPath", "status.podIP"}})}})}}));
  for (const auto& [name, ref] : with_prefix(job, kSecretKeys)) {
    const auto colon = ref.find(':');
    list.push_back(Json::object(
        {{"name", name},
         {"valueFrom",
          Json::object({{"secretKeyRef", Json::object({{"key", colon == std::string::npos ? "" : ref.substr(colon + 1)},
                                                       {"name", ref.substr(0, colon)}})}})}}));
  }
  return env;
}

Json resources_of(const SparkJob& job) {
  const std::int64_t memory = memory_mib(job.conf_or("spark.driver.memory", "1g")).value_or(1024);
  const std::string total = cat(memory + overhead_mib(job, memory), "Mi");
  const std::string cores(job.conf_or("spark.kubernetes.driver.request.cores", job.conf_or("spark.driver.cores", "1")));
  Json limits = Json::object({{"memory", total}});
  if (const auto limit = job.conf_or("spark.kubernetes.driver.limit.cores", ""); !limit.empty()) {
    limits["cpu"] = Json(limit);
  }
  return Json::object({{"limits", std::move(limits)}, {"requests", Json::object({{"cpu", cores}, {"memory", total}})}});
}

Json args_of(const SparkJob& job) {
  Json args =
      Json::array({"driver", "--properties-file", cat(kConfDir, "/", kPropertiesFile), "--class",
                   job.is_python() ? std::string("org.apache.spark.deploy.PythonRunner") : job.class_name, job.file});
  for (const auto& arg : job.args) args.as_array().emplace_back(arg);
  return args;
}

Json labels_of(const SparkJob& job, const DriverNames& names, const KubernetesOptions& options) {
  Json labels = Json::object({{"spark-version", options.spark_version},
                              {"spark-app-selector", names.app_id},
                              {"spark-app-name", label_name(job.name)},
                              {"spark-role", "driver"}});
  for (const auto& [name, value] : with_prefix(job, "spark.kubernetes.driver.label.")) labels[name] = Json(value);
  return labels;
}

void put_if_any(Json& object, std::string_view key, Json map) {
  if (!map.as_object().empty()) object[key] = std::move(map);
}

Json object_of(const std::map<std::string, std::string>& pairs) {
  Json out = Json::object();
  for (const auto& [key, value] : pairs) out[key] = Json(value);
  return out;
}

// Volumes and mounts, in the order in which spark-submit adds them.
void add_volumes(Json& container, Json& volumes, const SparkJob& job, const DriverNames& names,
                 const KubernetesOptions& options) {
  Json mounts = Json::array();
  auto& mount_list = mounts.as_array();
  auto& volume_list = volumes.as_array();
  for (const auto& [secret, path] : with_prefix(job, kSecrets)) {
    const std::string name = cat(secret, "-volume");
    volume_list.push_back(Json::object({{"name", name}, {"secret", Json::object({{"secretName", secret}})}}));
    mount_list.push_back(Json::object({{"mountPath", path}, {"name", name}}));
  }
  std::string local_dirs;
  for (const bool is_local_dir : {false, true}) {
    for (const auto& [key, settings] : volume_settings(job)) {
      auto volume = volume_of(key.first, key.second, settings);
      if (!volume || volume->name.starts_with("spark-local-dir-") != is_local_dir) continue;
      if (is_spark_since(options, 4, 0)) {
        const auto expr = settings.find("mount.subPathExpr");
        volume->mount["subPathExpr"] = Json(expr == settings.end() ? std::string() : expr->second);
      }
      if (is_local_dir) local_dirs += cat(local_dirs.empty() ? "" : ",", volume->mount.text_at("mountPath"));
      mount_list.push_back(std::move(volume->mount));
      volume_list.push_back(std::move(volume->source));
    }
  }
  if (local_dirs.empty()) {
    local_dirs = cat("/var/data/spark-", names.local_dir);
    volume_list.push_back(Json::object({{"emptyDir", Json::object()}, {"name", "spark-local-dir-1"}}));
    mount_list.push_back(Json::object({{"mountPath", local_dirs}, {"name", "spark-local-dir-1"}}));
  }
  container["env"].as_array().push_back(name_value("SPARK_LOCAL_DIRS", local_dirs));
  container["env"].as_array().push_back(name_value("SPARK_CONF_DIR", kConfDir));
  mount_list.push_back(Json::object({{"mountPath", kConfDir}, {"name", kConfVolume}}));
  const Json item = Json::object({{"key", kPropertiesFile}, {"mode", kFileMode}, {"path", kPropertiesFile}});
  volume_list.push_back(
      Json::object({{"configMap", Json::object({{"items", Json::array({item})}, {"name", names.config_map}})},
                    {"name", kConfVolume}}));
  container["volumeMounts"] = std::move(mounts);
}

Json pod_of(const SparkJob& job, const DriverNames& names, const KubernetesOptions& options) {
  Json container =
      Json::object({{"args", args_of(job)},
                    {"env", env_of(job, names)},
                    {"image", driver_conf(job, "container.image", "spark.kubernetes.container.image", options.image)},
                    {"imagePullPolicy", job.conf_or("spark.kubernetes.container.image.pullPolicy", "IfNotPresent")},
                    {"name", "spark-kubernetes-driver"},
                    {"ports", ports_json(job, options, port)},
                    {"resources", resources_of(job)}});
  Json volumes = Json::array();
  add_volumes(container, volumes, job, names, options);
  Json spec = Json::object();
  spec["containers"] = Json::array({std::move(container)});
  Json secrets = Json::array();
  for (const auto secret : base::split(job.conf_or("spark.kubernetes.container.image.pullSecrets", ""), ',')) {
    const auto trimmed = base::trim(secret);
    if (!trimmed.empty()) secrets.as_array().push_back(Json::object({{"name", trimmed}}));
  }
  if (!secrets.as_array().empty()) spec["imagePullSecrets"] = std::move(secrets);
  auto selector = with_prefix(job, "spark.kubernetes.node.selector.");
  for (auto& [key, value] : with_prefix(job, "spark.kubernetes.driver.node.selector.")) selector[key] = value;
  put_if_any(spec, "nodeSelector", object_of(selector));
  spec["restartPolicy"] = Json("Never");
  if (const auto name = driver_conf(job, "scheduler.name", "spark.kubernetes.scheduler.name", ""); !name.empty()) {
    spec["schedulerName"] = Json(name);
  }
  const auto account = job.conf_or("spark.kubernetes.authenticate.driver.serviceAccountName",
                                   job.conf_or("spark.kubernetes.authenticate.serviceAccountName", ""));
  if (!account.empty()) {
    spec["serviceAccount"] = Json(account);
    spec["serviceAccountName"] = Json(account);
  }
  spec["volumes"] = std::move(volumes);
  Json metadata = Json::object({{"labels", labels_of(job, names, options)}, {"name", names.pod}});
  put_if_any(metadata, "annotations", object_of(with_prefix(job, "spark.kubernetes.driver.annotation.")));
  return Json::object(
      {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}});
}

Json service_of(const SparkJob& job, const DriverNames& names, const KubernetesOptions& options) {
  Json metadata =
      Json::object({{"labels", Json::object({{"spark-app-selector", names.app_id}})}, {"name", names.service}});
  for (const auto& [key, value] : with_prefix(job, "spark.kubernetes.driver.service.label.")) {
    metadata["labels"][key] = Json(value);
  }
  put_if_any(metadata, "annotations", object_of(with_prefix(job, "spark.kubernetes.driver.service.annotation.")));
  const std::string policy(job.conf_or("spark.kubernetes.driver.service.ipFamilyPolicy", "SingleStack"));
  Json families = Json::array();
  for (const auto family : base::split(job.conf_or("spark.kubernetes.driver.service.ipFamilies", "IPv4"), ',')) {
    families.as_array().emplace_back(family);
  }
  return Json::object({{"apiVersion", "v1"},
                       {"kind", "Service"},
                       {"metadata", std::move(metadata)},
                       {"spec", Json::object({{"clusterIP", "None"},
                                              {"ipFamilies", std::move(families)},
                                              {"ipFamilyPolicy", policy},
                                              {"ports", ports_json(job, options, service_port)},
                                              {"selector", labels_of(job, names, options)}})}});
}

// Loads code, or lets a URL name another file system or a keytab of the gateway's machine.
bool is_unsafe_in_gateway(std::string_view key) {
  return key == "spark.jars.packages" || key.starts_with("spark.yarn.keytab") ||
         key.starts_with("spark.yarn.principal") || key.starts_with("spark.hadoop.fs.viewfs.") ||
         (key.starts_with("spark.hadoop.fs.") && key.ends_with(".impl"));
}

// spark-submit runs in the gateway, so it must neither read its files nor load code of a job.
std::string not_for_spark_submit(const SparkJob& job, std::string_view needed, const KubernetesOptions& options) {
  for (const auto& [key, value] : job.conf) {
    if (is_unsafe_in_gateway(key)) {
      return cat(key, " is not supported together with ", needed, ", which needs spark-submit");
    }
  }
  for (const auto key : kTemplates) {
    const auto path = job.conf_or(key, "");
    const bool uploaded = !options.uploads_folder.empty() && !path.contains("/..") &&
                          path.starts_with(cat("local://", options.uploads_folder, "/"));
    if (path.empty() || uploaded || path.starts_with("hdfs://")) continue;
    return cat(key, ": ", base::in_quotes(path), " must be an uploaded file or in HDFS");
  }
  return "";
}

}  // namespace

std::string label_name(std::string_view name) {
  return strip_dashes(plain_name(name).substr(0, kLabelMax));
}

std::optional<std::int64_t> run_of_label(std::string_view label, std::string_view store) {
  if (!label.starts_with(cat(store, "-"))) return std::nullopt;
  return base::parse_int(label.substr(store.size() + 1));
}

std::string namespace_of(const SparkJob& job, const KubernetesOptions& options) {
  return std::string(job.conf_or("spark.kubernetes.namespace", options.ns));
}

DriverNames driver_names(std::string_view store, std::int64_t run, std::int64_t attempt, const SparkJob& job,
                         const KubernetesOptions& options) {
  const auto hex = [&](std::string_view of) {
    return base::TextHash().add(cat(of, " ", store, " ", run, " ", attempt)).hex();
  };
  DriverNames out;
  out.ns = namespace_of(job, options);
  const std::string id = hex("prefix");
  std::string name = strip_dashes(plain_name(job.name));
  name = strip_dashes(name.substr(0, kLabelMax - kServiceSuffix.size() - id.size() - 1));
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "x");
  name.resize(std::min(name.size(), kLabelMax - kServiceSuffix.size() - id.size() - 1));
  const std::string prefix = cat(name, "-", id);
  out.pod = cat(prefix, "-driver");
  out.service = cat(prefix, kServiceSuffix);
  out.config_map = cat("spark-drv-", id, "-conf-map");
  out.app_id = cat("spark-", hex("application"), id);
  const std::string uuid = cat(hex("local"), hex("directory"));
  out.local_dir = cat(uuid.substr(0, 8), "-", uuid.substr(8, 4), "-", uuid.substr(12, 4), "-", uuid.substr(16, 4), "-",
                      uuid.substr(20));
  out.run = cat(store, "-", run);
  out.attempt = attempt;
  return out;
}

std::string needs_spark_submit(const SparkJob& job) {
  for (const auto& [key, value] : job.conf) {
    for (const auto prefix : kSparkSubmitOnly) {
      if (key.starts_with(prefix)) return key;
    }
  }
  return "";
}

std::string not_for_kubernetes(const SparkJob& job, const KubernetesOptions& options) {
  if (driver_conf(job, "container.image", "spark.kubernetes.container.image", options.image).empty()) {
    return "spark.kubernetes.container.image is not set";
  }
  for (const auto& [key, value] : job.conf) {
    for (const auto prefix : kRefused) {
      if (key.starts_with(prefix)) return cat(key, " is not supported");
    }
  }
  if (const std::string needed = needs_spark_submit(job); !needed.empty()) {
    if (std::string why = not_for_spark_submit(job, needed, options); !why.empty()) return why;
  }
  for (const std::string_view key : {"spark.driver.port", "spark.driver.blockManager.port", "spark.ui.port"}) {
    const auto port = base::parse_int(job.conf_or(key, "1"));
    if (!port || *port < 1 || *port > kPortMax) return cat(key, " must be a port from 1 to ", kPortMax);
  }
  for (const auto& [key, settings] : volume_settings(job)) {
    if (std::ranges::find(kVolumeTypes, key.first) != kVolumeTypes.end()) continue;
    return cat(kVolumes, key.first, " is not supported");
  }
  return "";
}

DriverObjects driver_objects(const SparkJob& job, const DriverNames& names, const KubernetesOptions& options,
                             std::int64_t submit_time_ms) {
  DriverObjects out;
  Json data = Json::object();
  data[kPropertiesFile] = Json(to_properties(driver_properties(job, names, options, submit_time_ms)));
  data["spark.kubernetes.namespace"] = Json(names.ns);
  out.config_map = Json::object({{"apiVersion", "v1"},
                                 {"kind", "ConfigMap"},
                                 {"metadata", Json::object({{"name", names.config_map}, {"namespace", names.ns}})},
                                 {"data", std::move(data)},
                                 {"immutable", true}});
  out.pod = pod_of(job, names, options);
  out.service = service_of(job, names, options);
  return out;
}

void add_profile(DriverObjects& objects, const SparkJob& job, const DriverNames& names,
                 const KubernetesOptions& options) {
  std::vector<Json*> all = {&objects.config_map, &objects.pod, &objects.service};
  for (Json& object : objects.more) all.push_back(&object);
  for (Json* object : all) {
    (*object)["metadata"]["labels"][kRunLabel] = Json(names.run);
    (*object)["metadata"]["labels"][kAttemptLabel] = Json(cat(names.attempt));
  }
  Json& metadata = objects.pod["metadata"];
  Json& labels = metadata["labels"];
  const auto label = [&](std::string_view key, std::string_view value) {
    if (!labels.as_object().contains(key)) labels[key] = Json(value);
  };
  label(model::kQosClassLabel, "BE");
  label(model::kClassLabel, "spark-driver");
  label(model::kJobLabel, label_name(job.name));
  if (const auto business = job.conf_or(kBusinessConf, ""); !business.empty()) label(model::kBusinessLabel, business);
  metadata["finalizers"] = Json::array({model::kEndIsReadFinalizer});
  Json& spec = objects.pod["spec"];
  if (!options.priority_class.empty()) spec["priorityClassName"] = Json(options.priority_class);
  for (Json& container : spec["containers"].as_array()) {
    // An extended resource needs a limit that equals the request.
    const Json* requested = container.at("resources", "requests", "cpu");
    if (requested == nullptr) continue;  // of a pod template
    const Json cpu = *requested;
    container["resources"]["limits"]["cpu"] = cpu;
  }
  policy::admission::translate_resources(objects.pod, model::PriorityClass::kBatch, false);
}

Json owned_by(std::string_view pod, std::string_view uid) {
  return Json::array(
      {Json::object({{"apiVersion", "v1"}, {"controller", true}, {"kind", "Pod"}, {"name", pod}, {"uid", uid}})});
}

}  // namespace tidemark::gateway
