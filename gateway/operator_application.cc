#include "gateway/operator_application.h"

#include "base/text.h"
#include "kube/intern.h"
#include "model/names.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using base::JsonReader;

constexpr std::string_view kDriverSuffix = "-driver";
constexpr std::string_view kStartKey = "run";
constexpr std::size_t kMessageMax = 16 * 1024;

Json conf_of(const SparkJob& job, const KubernetesOptions& options) {
  Json out = Json::object();
  for (const auto& [key, value] : job.conf) {
    // The operator's spark-submit must upload no file of the operator.
    if (!key.starts_with(kOwnPrefix) && key != "spark.kubernetes.file.upload.path") out[key] = Json(value);
  }
  const auto put = [&](std::string_view key, std::string_view value) {
    if (!out.as_object().contains(key)) out[key] = Json(value);
  };
  if (!options.image.empty()) put("spark.kubernetes.container.image", options.image);
  // The operator's own default is one executor. With dynamic allocation 0 means no number.
  put("spark.executor.instances", job.conf_or("spark.dynamicAllocation.enabled", "") == "true" ? "0" : "2");
  const auto label = [&](std::string_view name, std::string_view value) {
    put(cat("spark.kubernetes.driver.label.", name), value);
  };
  label(model::kQosClassLabel, "BE");
  label(model::kClassLabel, "spark-driver");
  label(model::kJobLabel, label_name(job.name));
  if (const auto business = job.conf_or(kBusinessConf, ""); !business.empty()) label(model::kBusinessLabel, business);
  return out;
}

Json driver_template(const DriverNames& names, const KubernetesOptions& options) {
  const Json key = Json::object({{"name", names.config_map}, {"key", kStartKey}});
  const Json variable =
      Json::object({{"name", "TIDEMARK_RUN"}, {"valueFrom", Json::object({{"configMapKeyRef", key}})}});
  const Json container = Json::object({{"name", kDriverContainer}, {"env", Json::array({variable})}});
  Json spec = Json::object({{"containers", Json::array({container})}});
  if (!options.priority_class.empty()) spec["priorityClassName"] = Json(options.priority_class);
  return Json::object({{"metadata", Json::object({{"finalizers", Json::array({model::kEndIsReadFinalizer})}})},
                       {"spec", std::move(spec)}});
}

Json labels_of(const DriverNames& names) {
  return Json::object({{kRunLabel, names.run}, {kAttemptLabel, cat(names.attempt)}});
}

void read_state(JsonReader& json, SparkApplicationState& out) {
  json.object([&](std::string_view key) {
    if (key == "state") {
      json.string(out.state);
    } else if (key == "errorMessage") {
      json.string(out.message);
      if (out.message.size() > kMessageMax) out.message.resize(kMessageMax);
    } else {
      json.skip();
    }
  });
}

}  // namespace

std::string application_name(const DriverNames& names) {
  return names.pod.substr(0, names.pod.size() - kDriverSuffix.size());
}

Json application_object(const SparkJob& job, const DriverNames& names, const KubernetesOptions& options) {
  Json spec = Json::object({{"type", job.is_python() ? "Python" : "Scala"},
                            {"mode", "cluster"},
                            {"sparkVersion", options.spark_version},
                            {"mainApplicationFile", job.file},
                            {"restartPolicy", Json::object({{"type", "Never"}})},
                            {"sparkConf", conf_of(job, options)},
                            {"driver", Json::object({{"template", driver_template(names, options)}})},
                            {"executor", Json::object()}});
  if (!job.is_python()) spec["mainClass"] = Json(job.class_name);
  if (!job.user.empty()) spec["proxyUser"] = Json(job.user);
  Json arguments = Json::array();
  for (const auto& each : job.args) arguments.as_array().emplace_back(each);
  if (!job.args.empty()) spec["arguments"] = std::move(arguments);
  return Json::object({{"apiVersion", kOperatorApi},
                       {"kind", kSparkApplications.kind},
                       {"metadata", Json::object({{"name", application_name(names)},
                                                  {"labels", labels_of(names)},
                                                  {"finalizers", Json::array({model::kEndIsReadFinalizer})}})},
                       {"spec", std::move(spec)}});
}

Json start_object(const DriverNames& names) {
  return Json::object({{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"metadata", Json::object({{"name", names.config_map}, {"labels", labels_of(names)}})},
                       {"data", Json::object({{kStartKey, names.run}})},
                       {"immutable", true}});
}

std::size_t SparkApplicationState::bytes() const {
  return sizeof *this + heap_bytes() + kube::string_bytes(state) + kube::string_bytes(message);
}

Result<SparkApplicationState> decode_application(std::string_view bytes) {
  SparkApplicationState out;
  JsonReader json(bytes);
  json.object([&](std::string_view key) {
    if (key == "metadata") {
      read_run_object(json, out, [](std::string_view) { return false; });
    } else if (key == "status") {
      json.object([&](std::string_view field) {
        if (field == "applicationState") {
          read_state(json, out);
        } else {
          json.skip();
        }
      });
    } else {
      json.skip();
    }
  });
  TM_TRY_VOID(json.finish());
  if (out.meta.name.empty()) return fail(ErrorKind::kInvalid, "a SparkApplication without a name");
  return out;
}

}  // namespace tidemark::gateway
