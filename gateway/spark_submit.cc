#include "gateway/spark_submit.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "gateway/log_lines.h"
#include "gateway/properties.h"
#include "journal/whole_file.h"
#include "net/seal.h"

namespace tidemark::gateway {
namespace {

using base::cat;

constexpr base::Duration kProcessLimit = std::chrono::minutes(2);
constexpr std::size_t kObjectBytesMax = 4 * 1024 * 1024;
constexpr std::size_t kCauseMax = 1000;  // bytes
constexpr std::size_t kTokenBytes = 16;
constexpr std::string_view kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view kServiceSuffix = "-driver-svc";
constexpr std::string_view kConfMapSuffix = "-conf-map";
constexpr std::string_view kProperties = "spark.properties";
// What spark-submit says if a file system does not answer: the same submission may succeed later.
constexpr std::array<std::string_view, 5> kUnreachable = {"java.net.ConnectException", "java.net.UnknownHostException",
                                                          "java.net.SocketTimeoutException",
                                                          "java.net.NoRouteToHostException", "StandbyException"};

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

bool is_kind(const Json& object, std::string_view kind) {
  return object.text_at("kind") == kind && object.text_at("apiVersion") == "v1";
}

// The arguments of the driver container begin so, whatever its name in a pod template.
bool is_driver_container(const Json& container) {
  const Json* args = container.at("args");
  return args != nullptr && args->is_array() && !args->as_array().empty() &&
         args->as_array()[0].get_string() == "driver";
}

std::map<std::string, std::string> conf_of(const SparkJob& job, const DriverNames& names,
                                           const KubernetesOptions& options) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : job.conf) {
    if (!key.starts_with(kOwnPrefix)) out[key] = value;
  }
  out.erase("spark.kubernetes.file.upload.path");  // spark-submit must upload no file of the gateway
  out["spark.kubernetes.driver.pod.name"] = names.pod;
  out["spark.kubernetes.namespace"] = names.ns;
  out["spark.kubernetes.submission.waitAppCompletion"] = "false";
  if (!options.image.empty()) out.try_emplace("spark.kubernetes.container.image", options.image);
  return out;
}

}  // namespace

std::string cause_in(std::string_view output) {
  std::string_view begin, cause;
  std::vector<std::string_view> last;
  for (const auto line : base::split(output, '\n')) {
    if (base::trim(line).empty()) continue;
    if (begin.empty() && (line.starts_with("Exception in thread") || line.starts_with("Error: "))) begin = line;
    if (line.starts_with("Caused by: ")) cause = line;
    last.push_back(line);
  }
  std::string out;
  if (!begin.empty()) {
    out = cat(begin, cause.empty() ? "" : "; ", cause);
  } else {
    if (last.size() > 3) last.erase(last.begin(), last.end() - 3);
    for (const auto line : last) out += cat(out.empty() ? "" : "; ", line);
  }
  return printable(out.substr(0, kCauseMax));
}

Result<DriverObjects> with_our_names(std::vector<Json> objects, const DriverNames& names,
                                     const KubernetesOptions& options) {
  std::string app_id, service;
  std::vector<std::pair<std::string, std::string>> renamed;
  const std::string prefix = names.config_map.substr(0, names.config_map.size() - kConfMapSuffix.size());
  for (const Json& object : objects) {
    const std::string name(object.text_at("metadata", "name"));
    if (is_kind(object, "Pod")) {
      app_id = object.text_at("metadata", "labels", "spark-app-selector");
    } else if (is_kind(object, "Service")) {
      service = name;
    } else if (!object.text_at("data", kProperties).empty()) {
      renamed.emplace_back(name, names.config_map);
    } else {
      renamed.emplace_back(name, cat(prefix, "-", renamed.size(), kConfMapSuffix));
    }
  }
  if (app_id.empty() || service.empty()) return fail(ErrorKind::kInvalid, "spark-submit made no driver pod or Service");
  renamed.emplace_back(app_id, names.app_id);
  renamed.emplace_back(service, names.service);
  DriverObjects out;
  for (const Json& object : objects) {
    std::string text = object.dump();
    for (const auto& [theirs, ours] : renamed) text = replace_all(std::move(text), theirs, ours);
    TM_TRY(Json made, Json::parse(text));
    auto& metadata = made["metadata"].as_object();
    for (const std::string_view key : {"ownerReferences", "finalizers", "namespace"}) metadata.erase(key);
    if (is_kind(made, "Service")) {
      out.service = std::move(made);
    } else if (is_kind(made, "Pod")) {
      metadata.set("name", Json(names.pod));
      for (Json& container : made["spec"]["containers"].as_array()) {
        if (is_driver_container(container)) container["name"] = Json(kDriverContainer);
      }
      out.pod = std::move(made);
    } else if (const auto properties = made.text_at("data", kProperties); !properties.empty()) {
      auto pairs = parse_properties(properties);
      pairs["spark.master"] = cat("k8s://", options.master);
      made["data"][kProperties] = Json(to_properties(pairs));
      out.config_map = std::move(made);
    } else {
      out.more.push_back(std::move(made));
    }
  }
  if (out.config_map.is_null()) return fail(ErrorKind::kInvalid, "spark-submit made no properties of the driver");
  return out;
}

Result<std::unique_ptr<SparkSubmit>> SparkSubmit::make(net::EventLoop& loop, base::Log log, kube::PluginHost programs,
                                                       SparkSubmitOptions options) {
  const std::string program = cat(options.home, "/bin/spark-submit");
  if (::access(program.c_str(), X_OK) != 0) {
    return fail(ErrorKind::kInvalid, "--spark-home: ", program, " is not a program; give the folder of Spark");
  }
  std::unique_ptr<SparkSubmit> out(new SparkSubmit(std::move(programs), std::move(options)));
  net::HttpServerConfig config;
  config.listen = "127.0.0.1:0";
  TM_TRY(out->server_,
         net::HttpServer::listen(loop, std::move(log), std::move(config),
                                 [at = out.get()](net::HttpExchange& exchange) { return at->record(exchange); }));
  return out;
}

// An API server as far as spark-submit needs one: it stores each object, and has none.
net::Task<void> SparkSubmit::record(net::HttpExchange& exchange) {
  const std::string method = exchange.head().method;
  const std::string target = exchange.head().target;
  const std::string token = target.substr(1, target.find('/', 1) - 1);
  const auto body = co_await exchange.body(kObjectBytesMax);
  const auto at = recordings_.find(token);
  Json object;
  if (auto parsed = Json::parse(body ? *body : ""); parsed && parsed->is_object()) object = *std::move(parsed);
  if (at == recordings_.end() || method == "GET" || object.member("metadata") == nullptr) {
    exchange.respond(404, "application/json",
                     R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404})");
    co_return;
  }
  if (is_kind(object, "Pod") || is_kind(object, "Service") || is_kind(object, "ConfigMap")) {
    at->second.objects.push_back(object);
  } else {
    at->second.refused = object.text_at("kind");
  }
  object["metadata"]["uid"] = Json("00000000-0000-0000-0000-000000000000");
  object["metadata"]["resourceVersion"] = Json("1");
  exchange.respond(method == "POST" ? 201 : 200, "application/json", object.dump());
}

net::Task<Result<DriverObjects>> SparkSubmit::run(SparkJob job, DriverNames names, KubernetesOptions options) {
  TM_CO_TRY(const std::string token, net::random_text(kTokenBytes));
  const std::string file = cat(options_.folder, "/spark-submit-", names.run, ".conf");
  struct Leftovers {
    SparkSubmit& of;
    const std::string& token;
    const std::string& file;
    ~Leftovers() {
      of.recordings_.erase(token);
      (void)journal::remove_whole(file);
    }
  };
  const Leftovers leftovers{*this, token, file};
  recordings_[token];
  TM_CO_TRY_VOID(journal::write_whole(file, to_properties(conf_of(job, names, options))));

  kube::PluginCommand command;
  // The variables of the gateway stay here: they may hold passwords, and configuration that spark-submit would add.
  command.argv = {"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh", "/usr/bin/env", "-i", cat("PATH=", kPath)};
  const auto variable = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) command.argv.push_back(cat(name, "=", value));
  };
  variable("JAVA_HOME", options_.java_home);
  variable("SPARK_HOME", options_.home);
  variable("SPARK_USER", job.user);
  variable("HADOOP_USER_NAME", job.user);
  variable("SPARK_LOCAL_IP", "127.0.0.1");
  variable("SPARK_SUBMIT_OPTS", "-Xmx256m");
  variable("KUBERNETES_AUTH_TRYKUBECONFIG", "false");
  variable("KUBERNETES_AUTH_TRYSERVICEACCOUNT", "false");
  const std::vector<std::string> words = {cat(options_.home, "/bin/spark-submit"),
                                          "--master",
                                          cat("k8s://http://", server_->address(), "/", token),
                                          "--deploy-mode",
                                          "cluster",
                                          "--properties-file",
                                          file};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  if (!job.is_python()) command.argv.insert(command.argv.end(), {"--class", job.class_name});
  command.argv.push_back(job.file);
  command.argv.insert(command.argv.end(), job.args.begin(), job.args.end());
  auto ended = co_await programs_.run(std::move(command), kProcessLimit);
  if (!ended) co_return fail(std::move(ended).error().within("spark-submit"));
  if (ended->signal != 0) co_return fail(ErrorKind::kUnavailable, "spark-submit was killed by signal ", ended->signal);
  if (ended->exit_code != 0) {
    const bool later =
        std::ranges::any_of(kUnreachable, [&](std::string_view word) { return ended->output.contains(word); });
    co_return fail(later ? ErrorKind::kUnavailable : ErrorKind::kInvalid, "spark-submit: ", cause_in(ended->output));
  }
  Recording& made = recordings_[token];
  if (!made.refused.empty()) {
    co_return fail(ErrorKind::kInvalid, "spark-submit made an object of kind ", made.refused,
                   ", which the gateway does not create");
  }
  co_return with_our_names(std::move(made.objects), names, options);
}

net::Task<Result<DriverObjects>> SparkSubmit::translate(SparkJob job, DriverNames names, KubernetesOptions options,
                                                        std::function<void()> wake) {
  if (running_ >= options_.processes_max) {
    waiting_[names.run] = std::move(wake);
    co_return fail(ErrorKind::kExhausted, "waits for spark-submit: ", running_, " processes run");
  }
  waiting_.erase(names.run);
  std::optional<Result<DriverObjects>> out;
  {
    struct Place {
      std::int64_t& running;
      ~Place() { --running; }
    };
    ++running_;
    const Place place{running_};
    out.emplace(co_await run(std::move(job), std::move(names), std::move(options)));
  }
  for (const auto& [run, wake_run] : std::exchange(waiting_, {})) wake_run();
  co_return *std::move(out);
}

}  // namespace tidemark::gateway
