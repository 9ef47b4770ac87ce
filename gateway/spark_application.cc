#include "gateway/spark_application.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "base/yaml.h"
#include "policy/route/names.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using namespace policy::route;

constexpr std::string_view kApi = "sparkoperator.k8s.io/v1beta2";
constexpr std::string_view kObjectsPath = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/";
constexpr std::string_view kPlural = "/sparkapplications";
constexpr std::size_t kNameMax = 253;

using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

// Fields with one value: a property of Spark each.
const Pairs kSpecTexts = {
    {"image", "spark.kubernetes.container.image"},
    {"imagePullPolicy", "spark.kubernetes.container.image.pullPolicy"},
    {"memoryOverheadFactor", "spark.kubernetes.memoryOverheadFactor"},
};
const Pairs kDriverTexts = {
    {"cores", "spark.driver.cores"},
    {"coreRequest", "spark.kubernetes.driver.request.cores"},
    {"coreLimit", "spark.kubernetes.driver.limit.cores"},
    {"memory", "spark.driver.memory"},
    {"memoryOverhead", "spark.driver.memoryOverhead"},
    {"image", "spark.kubernetes.driver.container.image"},
    {"serviceAccount", "spark.kubernetes.authenticate.driver.serviceAccountName"},
    {"javaOptions", "spark.driver.extraJavaOptions"},
};
const Pairs kExecutorTexts = {
    {"cores", "spark.executor.cores"},
    {"coreRequest", "spark.kubernetes.executor.request.cores"},
    {"coreLimit", "spark.kubernetes.executor.limit.cores"},
    {"memory", "spark.executor.memory"},
    {"memoryOverhead", "spark.executor.memoryOverhead"},
    {"image", "spark.kubernetes.executor.container.image"},
    {"instances", "spark.executor.instances"},
    {"serviceAccount", "spark.kubernetes.authenticate.executor.serviceAccountName"},
    {"javaOptions", "spark.executor.extraJavaOptions"},
};
const Pairs kAllocationTexts = {
    {"enabled", "spark.dynamicAllocation.enabled"},
    {"initialExecutors", "spark.dynamicAllocation.initialExecutors"},
    {"minExecutors", "spark.dynamicAllocation.minExecutors"},
    {"maxExecutors", "spark.dynamicAllocation.maxExecutors"},
    {"shuffleTrackingTimeout", "spark.dynamicAllocation.shuffleTracking.timeout"},
};
const Pairs kDependencyLists = {
    {"jars", "spark.jars"},
    {"files", "spark.files"},
    {"pyFiles", "spark.submit.pyFiles"},
    {"packages", "spark.jars.packages"},
    {"excludePackages", "spark.jars.excludes"},
    {"repositories", "spark.jars.repositories"},
    {"archives", "spark.archives"},
};

std::optional<std::string> property_in(const Pairs& pairs, std::string_view field) {
  for (const auto& [name, property] : pairs) {
    if (name == field) return std::string(property);
  }
  return std::nullopt;
}

std::unexpected<Error> unsupported(std::string_view place, std::string_view field) {
  return fail(ErrorKind::kUnsupported, place, ".", field, " is not supported");
}

// Each value of an object as one property with the prefix.
Result<void> read_map(const std::string& place, const Json& value, std::string_view prefix, SparkJob& job) {
  SparkJob read;
  TM_TRY_VOID(read_conf(place, value, read));
  for (auto& [key, text] : read.conf) job.conf[cat(prefix, key)] = std::move(text);
  return {};
}

// `env`: names with values. A value from another object is refused.
Result<void> read_env(const std::string& place, const Json& value, std::string_view prefix, SparkJob& job) {
  if (!value.is_array()) return fail(ErrorKind::kInvalid, place, ": a list is expected, found ", value.dump());
  for (const Json& each : value.as_array()) {
    const Json* text = each.at("value");
    if (each.at("valueFrom") != nullptr) return unsupported(place, "valueFrom");
    if (each.text_at("name").empty() || text == nullptr) {
      return fail(ErrorKind::kInvalid, place, ": name and value are expected, found ", each.dump());
    }
    TM_TRY(job.conf[cat(prefix, each.text_at("name"))], read_text(place, *text));
  }
  return {};
}

using Field = std::function<Result<bool>(std::string_view field, const Json& value)>;

// Reads an object: fields of `texts`, and the others by `other`, which says whether it knows the field.
Result<void> read_object(const std::string& place, const Json& object, const Pairs& texts, SparkJob& job,
                         const Field& other) {
  if (!object.is_object()) return fail(ErrorKind::kInvalid, place, ": an object is expected, found ", object.dump());
  for (const auto& [field, value] : object.as_object()) {
    if (value.is_null()) continue;
    if (const auto property = property_in(texts, field)) {
      TM_TRY(job.conf[*property], read_text(cat(place, ".", field), value));
      continue;
    }
    TM_TRY(const bool known, other(field, value));
    if (!known) return unsupported(place, field);
  }
  return {};
}

Result<void> read_pod(const std::string& place, const Json& value, bool driver, SparkJob& job) {
  const std::string role = driver ? "spark.kubernetes.driver." : "spark.kubernetes.executor.";
  return read_object(place, value, driver ? kDriverTexts : kExecutorTexts, job,
                     [&](std::string_view field, const Json& inner) -> Result<bool> {
                       const std::string inside = cat(place, ".", field);
                       if (field == "labels") {
                         TM_TRY_VOID(read_map(inside, inner, cat(role, "label."), job));
                       } else if (field == "annotations") {
                         TM_TRY_VOID(read_map(inside, inner, cat(role, "annotation."), job));
                       } else if (field == "nodeSelector") {
                         TM_TRY_VOID(read_map(inside, inner, cat(role, "node.selector."), job));
                       } else if (field == "env") {
                         const auto prefix = driver ? "spark.kubernetes.driverEnv." : "spark.executorEnv.";
                         TM_TRY_VOID(read_env(inside, inner, prefix, job));
                       } else if (field == "envVars") {
                         const auto prefix = driver ? "spark.kubernetes.driverEnv." : "spark.executorEnv.";
                         TM_TRY_VOID(read_map(inside, inner, prefix, job));
                       } else {
                         return false;
                       }
                       return true;
                     });
}

// The gateway owns the attempts.
Result<void> check_restarts(const Json& value) {
  const std::string_view type = value.text_at("type");
  if (type.empty() || type == "Never") return {};
  return fail(ErrorKind::kUnsupported, "spec.restartPolicy.type: only Never is supported, found ",
              base::in_quotes(type), ": the gateway moves a run if that is safe");
}

Result<bool> read_spec_field(std::string_view field, const Json& value, SparkJob& job) {
  const std::string place = cat("spec.", field);
  const auto no_more = [](std::string_view, const Json&) -> Result<bool> { return false; };
  if (field == "mainApplicationFile") {
    TM_TRY(job.file, read_text(place, value));
  } else if (field == "mainClass") {
    TM_TRY(job.class_name, read_text(place, value));
  } else if (field == "arguments") {
    TM_TRY(job.args, read_texts(place, value));
  } else if (field == "proxyUser") {
    TM_TRY(job.user, read_text(place, value));
  } else if (field == "driver" || field == "executor") {
    TM_TRY_VOID(read_pod(place, value, field == "driver", job));
  } else if (field == "dynamicAllocation") {
    TM_TRY_VOID(read_object(place, value, kAllocationTexts, job, no_more));
  } else if (field == "batchSchedulerOptions") {
    TM_TRY_VOID(read_object(place, value, {{"queue", "spark.yarn.queue"}}, job, no_more));
  } else if (field == "nodeSelector") {
    TM_TRY_VOID(read_map(place, value, "spark.kubernetes.node.selector.", job));
  } else if (field == "hadoopConf") {
    TM_TRY_VOID(read_map(place, value, "spark.hadoop.", job));
  } else if (field == "imagePullSecrets") {
    TM_TRY(const auto secrets, read_texts(place, value));
    job.conf["spark.kubernetes.container.image.pullSecrets"] = base::join(secrets, ",");
  } else if (field == "deps") {
    TM_TRY_VOID(read_object(place, value, {}, job, [&](std::string_view name, const Json& list) -> Result<bool> {
      const auto property = property_in(kDependencyLists, name);
      if (!property) return false;
      TM_TRY(const auto texts, read_texts(cat(place, ".", name), list));
      job.conf[*property] = base::join(texts, ",");
      return true;
    }));
  } else if (field == "restartPolicy") {
    TM_TRY_VOID(check_restarts(value));
  } else if (field == "type") {
    TM_TRY(const std::string type, read_text(place, value));
    if (type != "Java" && type != "Scala" && type != "Python") {
      return fail(ErrorKind::kUnsupported, "spec.type: ", base::in_quotes(type), " is not supported");
    }
  } else if (field == "mode") {
    TM_TRY(const std::string mode, read_text(place, value));
    if (mode != "cluster") {
      return fail(ErrorKind::kUnsupported, "spec.mode: only cluster is supported, found ", base::in_quotes(mode));
    }
  } else {
    return field == "sparkConf" || field == "sparkVersion" || field == "pythonVersion";
  }
  return true;
}

Json status_of(int status, std::string_view reason, std::string_view message) {
  return Json::object({{"kind", "Status"},
                       {"apiVersion", "v1"},
                       {"metadata", Json::object()},
                       {"status", "Failure"},
                       {"message", message},
                       {"reason", reason},
                       {"code", status}});
}

void refuse_object(net::HttpExchange& exchange, int status, std::string_view reason, std::string_view message) {
  respond(exchange, status, status_of(status, reason, message));
}

void refuse_object(net::HttpExchange& exchange, const Error& error) {
  respond(exchange, SparkApplications::refusal(error));
}

std::string_view application_state(const Record& record) {
  if (record.run.phase < Phase::kSubmitted) return "";
  const bool ending = record.run.phase == Phase::kEnding && record.run.attempts.back().end;
  if (ending) {
    return record.run.attempts.back().end->end_class == EndClass::kSucceeded ? "SUCCEEDING" : "FAILING";
  }
  switch (state_of(record.run)) {
    case RunState::kWaiting:
      return "SUBMITTED";
    case RunState::kRunning:
      return "RUNNING";
    case RunState::kSucceeded:
      return "COMPLETED";
    case RunState::kFailed:
    case RunState::kKilled:
      break;
  }
  return "FAILED";
}

constexpr std::string_view kKeyPrefix = "sparkapplication/";
std::string key_of(std::string_view ns, std::string_view name) {
  return cat(kKeyPrefix, ns, "/", name);
}

bool is_object_name(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return !name.empty() && name.size() <= kNameMax && std::ranges::all_of(name, plain) && name.front() != '-' &&
         name.front() != '.';
}

}  // namespace

Result<SparkApplication> parse_spark_application(std::string_view body, std::string_view ns) {
  TM_TRY(const Json json, base::parse_yaml(body));  // JSON is YAML too
  if (!json.is_object()) return fail(ErrorKind::kInvalid, "an object is expected");
  if (json.text_at("kind") != "SparkApplication" || json.text_at("apiVersion") != kApi) {
    return fail(ErrorKind::kInvalid, "kind SparkApplication of ", kApi, " is expected, found ",
                base::in_quotes(json.text_at("kind")), " of ", base::in_quotes(json.text_at("apiVersion")));
  }
  SparkApplication out;
  out.name = json.text_at("metadata", "name");
  if (!is_object_name(out.name)) {
    return fail(ErrorKind::kInvalid, "metadata.name: invalid name ", base::in_quotes(out.name));
  }
  if (const auto given = json.text_at("metadata", "namespace"); !given.empty() && given != ns) {
    return fail(ErrorKind::kInvalid, "metadata.namespace: ", base::in_quotes(given),
                " is not the namespace of the path");
  }
  const Json* spec = json.at("spec");
  if (spec == nullptr) return fail(ErrorKind::kInvalid, "spec is required");
  if (const Json* conf = spec->at("sparkConf")) TM_TRY_VOID(read_conf("spec.sparkConf", *conf, out.job));
  TM_TRY_VOID(read_object("spec", *spec, kSpecTexts, out.job, [&](std::string_view field, const Json& value) {
    return read_spec_field(field, value, out.job);
  }));
  out.job.conf["spark.kubernetes.namespace"] = ns;
  if (out.job.name.empty()) out.job.name = out.name;
  TM_TRY(out.job, checked(std::move(out.job)));
  return out;
}

bool SparkApplications::serves(std::string_view path) {
  return path.starts_with("/apis/sparkoperator.k8s.io/");
}

DoorAnswer SparkApplications::refusal(const Error& error) {
  const auto [status, message] = refusal_of(error);
  const auto as = [&message](int code, std::string_view reason) {
    return DoorAnswer{code, status_of(code, reason, message)};
  };
  switch (status) {
    case 400:
      return as(422, "Invalid");
    case 401:
      return as(401, "Unauthorized");
    case 403:
    case kTooManyRequests:  // as the API server refuses what a ResourceQuota does not allow
      return as(403, "Forbidden");
    case 404:
      return as(404, "NotFound");
    case 408:
      return as(408, "Timeout");
    case 409:
      return as(409, "AlreadyExists");
    case 413:
      return as(413, "RequestEntityTooLarge");
    case 503:
      return as(503, "ServiceUnavailable");
    default:
      return as(500, "InternalError");
  }
}

Json SparkApplications::object_of(const Record& record) const {
  const std::string path = record.key.substr(kKeyPrefix.size());
  const auto slash = path.find('/');
  const std::string app_id = runs_.app_id(record);
  Json driver = Json::object();
  for (const Attempt& attempt : record.run.attempts) {
    if (attempt.side == Side::kKubernetes) driver["podName"] = Json(attempt.handle);
  }
  Json status = Json::object({{"sparkApplicationId", app_id},
                              {"submissionID", cat(record.id)},
                              {"executionAttempts", static_cast<std::int64_t>(record.run.attempts.size())},
                              {"driverInfo", std::move(driver)},
                              {"applicationState", Json::object({{"state", application_state(record)}})}});
  if (!record.message.empty()) status["applicationState"]["errorMessage"] = Json(record.message);
  return Json::object({{"apiVersion", kApi},
                       {"kind", "SparkApplication"},
                       {"metadata", Json::object({{"name", path.substr(slash + 1)},
                                                  {"namespace", path.substr(0, slash)},
                                                  {"creationTimestamp", base::format_rfc3339(record.created)}})},
                       {"spec", Json::object({{"mainApplicationFile", record.job.file}})},
                       {"status", std::move(status)}});
}

net::Task<void> SparkApplications::create(net::HttpExchange& exchange, const std::string& ns) {
  const auto body = co_await read_body(exchange);
  if (!body) {
    refuse_object(exchange, body.error());
    co_return;
  }
  auto application = parse_spark_application(*body, ns);
  if (!application) {
    refuse_object(exchange, application.error());
    co_return;
  }
  const auto added = co_await runs_.add(std::move(application->job), key_of(ns, application->name));
  if (!added) {
    refuse_object(exchange, added.error());
  } else if (added->existed) {
    refuse_object(
        exchange, 409, "AlreadyExists",
        cat("sparkapplications.sparkoperator.k8s.io ", base::in_quotes(application->name), " already exists"));
  } else {
    respond(exchange, 201, object_of(added->record));
  }
}

net::Task<void> SparkApplications::one(net::HttpExchange& exchange, const std::string& ns, const std::string& name) {
  const std::string method = exchange.head().method;
  const auto found = co_await runs_.find_key(key_of(ns, name));
  if (!found) {
    refuse_object(exchange, found.error());
  } else if (!*found) {
    refuse_object(exchange, 404, "NotFound",
                  cat("sparkapplications.sparkoperator.k8s.io ", base::in_quotes(name), " not found"));
  } else if (method == "GET") {
    respond(exchange, 200, object_of(**found));
  } else if (method == "DELETE") {
    auto deleted = co_await runs_.cancel((*found)->id);
    if (deleted) deleted = co_await runs_.drop_key((*found)->id);
    if (!deleted) {
      refuse_object(exchange, deleted.error());
      co_return;
    }
    respond(
        exchange, 200,
        Json::object({{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"status", "Success"}}));
  } else {
    refuse_object(exchange, 405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
  }
}

net::Task<void> SparkApplications::handle(net::HttpExchange& exchange) {
  const auto target = net::parse_target(exchange.head().target);
  std::string path = target ? target->path : "";
  if (path.starts_with(kObjectsPath)) path.erase(0, kObjectsPath.size());
  const auto end = path.find('/');
  const std::string ns = path.substr(0, end);
  const std::string rest = end == std::string::npos ? "" : path.substr(end);
  if (!target || !is_object_name(ns) || (rest != kPlural && !rest.starts_with(cat(kPlural, "/")))) {
    refuse_object(exchange, 404, "NotFound", "the server could not find the requested resource");
  } else if (rest.size() > kPlural.size() + 1) {
    std::string name = rest.substr(kPlural.size() + 1);
    if (name.ends_with("/status")) name.resize(name.size() - std::string_view("/status").size());
    co_await one(exchange, ns, name);
  } else if (exchange.head().method == "POST") {
    co_await create(exchange, ns);
  } else {
    refuse_object(exchange, 405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
  }
}

}  // namespace tidemark::gateway
