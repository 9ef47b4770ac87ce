#include "gateway/kubernetes_side.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "gateway/api_calls.h"
#include "gateway/log_lines.h"
#include "gateway/pod_log.h"
#include "gateway/run_logs.h"
#include "model/names.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using namespace policy::route;

constexpr kube::Resource kServices{"", "v1", "services", "Service", true};
constexpr base::Duration kLogLimit = std::chrono::seconds(5);  // a lost node must not hold up the move of its driver
// Beyond this age the watch may hide that a pod ended or is gone.
constexpr base::Duration kContactMax = std::chrono::minutes(3);
// A creation without an answer arrives within minutes, or never.
constexpr base::Duration kFenceAge = std::chrono::hours(1);
constexpr int kFenceTries = 5;
constexpr std::string_view kExecutorContainer = "spark-kubernetes-executor";
constexpr std::int64_t kLogPartMax = 4 * 1024 * 1024;  // bytes of one answer
constexpr std::int64_t kLogTailLines = 20'000;
// An executor that is being deleted still writes, for its grace period.
constexpr base::Duration kLastLinesLimit = std::chrono::minutes(2);
constexpr std::size_t kReadersMax = 16;
constexpr std::size_t kPodBytesMax = std::size_t{64} * 1024 * 1024;

kube::InformerConfig informer_config() {
  kube::InformerConfig config;
  config.resource = kube::kPods;
  config.name = "spark-pods";
  config.label_selector = std::string(kRunLabel);
  config.bytes_max = kPodBytesMax;
  return config;
}

std::int64_t attempt_number(const Record& record) {
  return static_cast<std::int64_t>(record.run.attempts.size());
}

// What driver and executors need to read the files of the job: the folder of uploads as a volume, and the addresses of
// HDFS.
void add_files(SparkJob& job, const KubernetesOptions& options) {
  std::string files = job.file;
  for (const std::string_view key :
       {"spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles",
        "spark.kubernetes.driver.podTemplateFile", "spark.kubernetes.executor.podTemplateFile"}) {
    files += cat(",", job.conf_or(key, ""));
  }
  if (!options.uploads_folder.empty() && files.contains(cat("local://", options.uploads_folder, "/"))) {
    for (const std::string_view role : {"driver", "executor"}) {
      const std::string volume = cat("spark.kubernetes.", role, ".volumes.hostPath.tidemark-uploads.");
      job.conf[volume + "mount.path"] = options.uploads_folder;
      job.conf[volume + "mount.readOnly"] = "true";
      job.conf[volume + "options.path"] = options.uploads_folder;
    }
  }
  if (!files.contains("hdfs://")) return;
  for (const auto& [key, value] : options.hadoop) {
    const bool finds_hdfs = key == "fs.defaultFS" || key == "dfs.nameservices" ||
                            key.starts_with("dfs.ha.namenodes.") || key.starts_with("dfs.namenode.rpc-address.") ||
                            key.starts_with("dfs.client.failover.proxy.provider.");
    if (finds_hdfs) job.conf.try_emplace(cat("spark.hadoop.", key), value);
  }
}

// Properties for executors, which the driver creates: a ClusterColocationProfile finds them by these labels. Spark
// removes executors by deletion, and a decommissioned executor hands over its blocks.
SparkJob with_executors(SparkJob job, const DriverNames& names, std::int64_t run, const KubernetesOptions& options,
                        const KubernetesSide::ExecutorLogs& logs) {
  const auto put = [&](std::string key, std::string value) { job.conf.try_emplace(std::move(key), std::move(value)); };
  const auto label = [&](std::string_view name, std::string_view value) {
    put(cat("spark.kubernetes.executor.label.", name), std::string(value));
  };
  label(kRunLabel, names.run);
  label(kAttemptLabel, cat(names.attempt));
  label(model::kQosClassLabel, "BE");
  label(model::kClassLabel, std::string(job.conf_or(kClassConf, kDefaultClass)));
  if (const auto business = job.conf_or(kBusinessConf, ""); !business.empty()) label(model::kBusinessLabel, business);
  put("spark.decommission.enabled", "true");
  put("spark.storage.decommission.enabled", "true");
  add_files(job, options);
  if (logs.files != nullptr) put("spark.kubernetes.executor.deleteOnTermination", "false");
  if (!logs.public_url.empty()) {
    // The kubelet puts the executor's number in. Spark stores the link in the event log.
    put("spark.executorEnv.SPARK_LOG_URL_LOG",
        cat(logs.public_url, "/tidemark/v1/runs/", run, "/executors/$(SPARK_EXECUTOR_ID)/log"));
  }
  return job;
}

Json fence_object(const DriverNames& names, std::string_view store) {
  Json labels = Json::object({{kRunLabel, names.run}, {kAttemptLabel, cat(names.attempt)}, {kFenceLabel, store}});
  return Json::object({{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"metadata", Json::object({{"name", names.config_map}, {"labels", std::move(labels)}})},
                       {"immutable", true}});
}

}  // namespace

KubernetesSide::KubernetesSide(net::EventLoop& loop, kube::Client& client, base::Log log, base::Registry& metrics,
                               base::Random random, KubernetesOptions options, SideOwner owner)
    : loop_(loop),
      client_(client),
      log_(std::move(log)),
      options_(std::move(options)),
      owner_(std::move(owner)),
      pods_({loop, client, client, log_, metrics, random}, informer_config(), decode_spark_pod),
      scope_(loop) {
  pods_.subscribe(
      [this](const kube::ObjectKey&, const SparkPod* before, const SparkPod* after) { on_pod(before, after); });
}

void KubernetesSide::start() {
  scope_.spawn(pods_.run());
  if (operator_ != nullptr) operator_->start();
  scope_.spawn(remove_old_fences());
}

bool KubernetesSide::synced() const {
  return pods_.synced() && (operator_ == nullptr || operator_->synced());
}

DriverNames KubernetesSide::names_of(const Record& record) const {
  return driver_names(owner_.store, record.id, attempt_number(record), record.job, options_);
}

void KubernetesSide::on_pod(const SparkPod* before, const SparkPod* after) {
  const SparkPod& pod = after != nullptr ? *after : *before;
  const auto run = run_of_label(pod.run, owner_.store);
  if (!run) return;
  namespaces_.insert(pod.meta.ns);
  const bool newly_disrupted =
      after != nullptr && !after->driver.disruption.empty() && (before == nullptr || before->driver.disruption.empty());
  if (!pod.is_driver && newly_disrupted) ++disrupted_[*run];
  if (after != nullptr && pod.is_driver && pod.has_finalizer) {
    const std::string key = cat(pod.meta.ns, "/", pod.meta.name);
    if (straying_.insert(key).second) scope_.spawn(remove_if_stray(*run, pod));
  }
  const bool ends = after != nullptr && !pod.is_driver && !pod.executor.empty() &&
                    (pod.driver.deleted || pod.driver.phase == "Succeeded" || pod.driver.phase == "Failed");
  if (after == nullptr) collecting_.erase(pod.uid);
  if (ends && executor_logs_.files != nullptr && collecting_.insert(pod.uid).second) {
    scope_.spawn(collect_log(pod, *run));
  }
  owner_.on_change(*run);
}

net::Task<void> KubernetesSide::collect_log(SparkPod executor, std::int64_t run) {
  while (readers_ >= kReadersMax) co_await loop_.sleep(std::chrono::seconds(1));
  ++readers_;
  PodLogOptions options{.container = kExecutorContainer};
  options.tail_lines = kLogTailLines;
  options.bytes_max = executor_logs_.bytes_max;
  options.until_it_ends = executor.driver.deleted;
  auto text = co_await pod_log(client_, executor.meta.ns, executor.meta.name, options, kLastLinesLimit);
  --readers_;
  Result<void> done;
  if (!text) {
    done = fail(std::move(text).error());
  } else {
    done = co_await executor_logs_.files->put(RunLogs::executor_path(run, executor.executor), printable(*text));
  }
  if (!done && done.error().kind != ErrorKind::kNotFound) {
    log_.warn("cannot collect the log of an executor", {{"pod", executor.meta.name}, {"error", done.error()}});
  }
  if (executor.driver.deleted) co_return;
  const auto removed =
      co_await client_.remove(kube::kPods, executor.meta.name, executor.uid, in(executor.meta.ns), kCallLimit);
  if (!done_or_gone(removed)) {
    log_.warn("cannot delete an ended executor pod; its driver's deletion removes it",
              {{"pod", executor.meta.name}, {"error", removed.error()}});
  }
}

net::Task<Result<DriverOutput>> KubernetesSide::read_log(const Record& record, std::string position) {
  const DriverNames names = names_of(record);
  const LogPosition from = decode_log_position(position);
  PodLogOptions options{.container = kDriverContainer};
  options.since = from.time;
  options.bytes_max = kLogPartMax;
  options.timestamps = true;
  const auto answer = co_await pod_log(client_, names.ns, names.pod, options, kLogLimit);
  if (!answer) {
    const bool not_begun = answer.error().kind == ErrorKind::kInvalid || answer.error().kind == ErrorKind::kNotFound;
    if (not_begun) co_return DriverOutput{"", position};
    co_return fail(answer.error());
  }
  LogPart part = new_lines(*answer, from);
  co_return DriverOutput{std::move(part.text), encode(part.next),
                         static_cast<std::int64_t>(answer->size()) >= kLogPartMax};
}

net::Task<Result<std::string>> KubernetesSide::read_executor_log(const Record& record, std::string executor) {
  const DriverNames names = names_of(record);
  std::string pod;
  pods_.for_each([&](const kube::ObjectKey&, const SparkPod& each) {
    if (each.run == names.run && each.executor == executor && !each.is_driver) pod = each.meta.name;
  });
  if (pod.empty()) co_return fail(ErrorKind::kNotFound, "no pod of executor ", executor);
  PodLogOptions options{.container = kExecutorContainer};
  options.tail_lines = kLogTailLines;
  options.bytes_max = kLogPartMax;
  TM_CO_TRY(const std::string text, co_await pod_log(client_, names.ns, pod, options, kCallLimit));
  co_return printable(text);
}

net::Task<void> KubernetesSide::remove_if_stray(std::int64_t run, SparkPod pod) {
  const std::string key = cat(pod.meta.ns, "/", pod.meta.name);
  if (co_await owner_.is_live(run, pod.attempt)) {
    straying_.erase(key);
    co_return;
  }
  // Its run may have ended since: then the pod has lost its finalizer, and stays for its users.
  const auto now = co_await read_pod(pod.meta.ns, pod.meta.name);
  if (now && (!*now || (*now)->uid != pod.uid || !(*now)->has_finalizer)) {
    straying_.erase(key);
    co_return;
  }
  log_.warn("deleting a driver pod that appeared after the end of its attempt",
            {{"namespace", pod.meta.ns}, {"pod", pod.meta.name}, {"run", pod.run}});
  auto removed = co_await client_.remove(kube::kPods, pod.meta.name, pod.uid, in(pod.meta.ns), kCallLimit);
  if (done_or_gone(removed)) {
    removed = co_await remove_finalizer(client_, kube::kPods, pod.meta.ns, pod.meta.name);
  }
  if (!done_or_gone(removed)) {
    log_.warn("cannot delete a driver pod; retrying at its next change",
              {{"pod", pod.meta.name}, {"error", removed.error()}});
  }
  straying_.erase(key);
}

std::string KubernetesSide::cannot_run(const SparkJob& job) const {
  std::string why = not_for_kubernetes(job, options_);
  if (const std::string needed = needs_spark_submit(job); why.empty() && !needed.empty() && spark_submit_ == nullptr) {
    why = cat(needed, " is not supported without --spark-home");
  }
  if (why.empty() && shuffle_ != nullptr) why = shuffle_->cannot_run(job);
  return why;
}

net::Task<Result<Reservation>> KubernetesSide::reserve(const Record& record) {
  Reservation out{names_of(record).pod};
  if (const std::string needed = needs_spark_submit(record.job); !needed.empty()) {
    out.way = Way::kSparkSubmit;
    out.way_reason = cat("the native way does not translate ", needed);
  } else if (operator_ != nullptr) {
    TM_CO_TRY(const bool served, co_await operator_->is_served(namespace_of(record.job, options_)));
    if (served) {
      out.way = Way::kSparkOperator;
      out.way_reason = "--spark-operator";
    } else {
      log_.warn("the API server has no SparkApplications; using the native way", {{"run", record.id}});
    }
  }
  co_return out;
}

std::string KubernetesSide::app_id(const Record& record) const {
  const DriverNames names = names_of(record);
  if (record.run.attempts.back().way != Way::kSparkOperator) return names.app_id;
  const SparkPod* pod = pods_.find({names.ns, names.pod});  // the operator's spark-submit makes the id
  return pod == nullptr || pod->run != names.run ? "" : pod->app_id;
}

net::Task<Result<std::optional<SparkPod>>> KubernetesSide::read_pod(const std::string& ns, const std::string& name) {
  auto bytes = co_await client_.get(kube::kPods, ns, name, kCallLimit);
  if (!bytes) {
    if (bytes.error().kind == ErrorKind::kNotFound) co_return std::optional<SparkPod>();
    co_return fail(std::move(bytes).error());
  }
  TM_CO_TRY(SparkPod pod, decode_spark_pod(*bytes));
  co_return std::optional(std::move(pod));
}

net::Task<Submission> KubernetesSide::create_pod(const DriverNames& names, std::string body, std::string& uid) {
  auto created = co_await client_.create(kube::kPods, std::move(body), in(names.ns), "", kCallLimit);
  if (created) {
    auto pod = decode_spark_pod(*created);
    if (!pod) co_return Submission{.message = pod.error().message};
    uid = pod->uid;
    co_return Submission{Submission::Outcome::kAccepted, {}, ""};
  }
  // A quota may refuse a second creation because of the first one. So the pod decides, not the answer.
  const Submission answer = refused_or_unknown(created.error());
  auto there = co_await read_pod(names.ns, names.pod);
  if (!there) co_return Submission{.message = there.error().message};
  if (!*there) {
    if (answer.outcome == Submission::Outcome::kUnknown || created.error().kind == ErrorKind::kAlreadyExists) {
      co_return Submission{.message = answer.message};
    }
    co_return answer;
  }
  if ((*there)->run != names.run) {
    co_return Submission{Submission::Outcome::kRefused, EndClass::kUser,
                         cat("pod ", names.ns, "/", names.pod, " exists and belongs to another run")};
  }
  uid = (*there)->uid;
  co_return Submission{Submission::Outcome::kAccepted, {}, ""};
}

// kInvalid: spark-submit refuses the job.
net::Task<Result<DriverObjects>> KubernetesSide::objects_of(const Record& record, const DriverNames& names) {
  SparkJob job = with_executors(job_of_attempt(record), names, record.id, options_, executor_logs_);
  if (shuffle_ != nullptr) shuffle_->add_settings(job);
  if (record.run.attempts.back().way == Way::kSparkSubmit) {
    if (spark_submit_ == nullptr) co_return fail(ErrorKind::kUnavailable, "the gateway has no --spark-home");
    co_return co_await spark_submit_->translate(std::move(job), names, options_,
                                                [this, run = record.id] { owner_.on_change(run); });
  }
  const auto submitted_ms = std::chrono::duration_cast<std::chrono::milliseconds>(record.run.since.since_epoch);
  co_return driver_objects(job, names, options_, submitted_ms.count());
}

// A SparkApplication, which starts only with its ConfigMap.
net::Task<Submission> KubernetesSide::create_application(const Record& record, const DriverNames& names) {
  if (operator_ == nullptr) co_return Submission{.message = "the run belongs to Spark Operator; set --spark-operator"};
  SparkJob job = with_executors(job_of_attempt(record), names, record.id, options_, executor_logs_);
  if (shuffle_ != nullptr) shuffle_->add_settings(job);
  auto start = co_await client_.create(kube::kConfigMaps, start_object(names).dump(), in(names.ns), "", kCallLimit);
  if (!start && start.error().kind != ErrorKind::kAlreadyExists) co_return refused_or_unknown(start.error());
  std::string uid;
  Submission created = co_await operator_->create(names, application_object(job, names, options_), uid);
  if (created.outcome != Submission::Outcome::kAccepted) co_return created;
  const Json owner = Json::array({Json::object({{"apiVersion", kOperatorApi},
                                                {"kind", kSparkApplications.kind},
                                                {"name", application_name(names)},
                                                {"uid", uid}})});
  const Json patch = Json::object({{"metadata", Json::object({{"ownerReferences", owner}})}});
  auto owned = co_await client_.patch(kube::kConfigMaps, names.config_map, kube::PatchType::kMerge, patch.dump(),
                                      in(names.ns), kCallLimit);
  if (!done_or_gone(owned)) co_return Submission{.message = owned.error().message};
  co_return created;
}

net::Task<Submission> KubernetesSide::submit(const Record& record) {
  const DriverNames names = names_of(record);
  if (record.run.attempts.back().way == Way::kSparkOperator) co_return co_await create_application(record, names);
  auto made = co_await objects_of(record, names);
  if (!made) {
    if (made.error().kind != ErrorKind::kInvalid) co_return Submission{.message = made.error().message};
    co_return Submission{Submission::Outcome::kRefused, EndClass::kUser, made.error().message};
  }
  DriverObjects objects = *std::move(made);
  add_profile(objects, record.job, names, options_);

  std::vector<const Json*> maps = {&objects.config_map};
  for (const Json& each : objects.more) maps.push_back(&each);
  for (const Json* map : maps) {
    auto config = co_await client_.create(kube::kConfigMaps, map->dump(), in(names.ns), "", kCallLimit);
    if (!config && config.error().kind != ErrorKind::kAlreadyExists) co_return refused_or_unknown(config.error());
  }
  std::string uid;
  Submission pod = co_await create_pod(names, objects.pod.dump(), uid);
  if (pod.outcome != Submission::Outcome::kAccepted) co_return pod;

  const Json owner = owned_by(names.pod, uid);
  const Json patch = Json::object({{"metadata", Json::object({{"ownerReferences", owner}})}});
  for (const Json* map : maps) {
    auto owned = co_await client_.patch(kube::kConfigMaps, std::string(map->text_at("metadata", "name")),
                                        kube::PatchType::kMerge, patch.dump(), in(names.ns), kCallLimit);
    if (!owned && owned.error().kind != ErrorKind::kNotFound) co_return Submission{.message = owned.error().message};
  }
  objects.service["metadata"]["ownerReferences"] = owner;
  auto service = co_await client_.create(kServices, objects.service.dump(), in(names.ns), "", kCallLimit);
  if (!service && service.error().kind != ErrorKind::kAlreadyExists) {
    co_return Submission{.message = service.error().message};
  }
  co_return pod;
}

Observation KubernetesSide::look(const Record& record) const {
  if (!pods_.synced()) return {};
  const DriverNames names = names_of(record);
  const SparkPod* pod = pods_.find({names.ns, names.pod});
  const kube::InformerCore& watch = pods_.core();
  const bool fresh = !watch.unheard().lasts && loop_.clock().monotonic() - watch.last_contact() < kContactMax;
  if (pod == nullptr && fresh && record.run.attempts.back().way == Way::kSparkOperator) {
    return operator_ == nullptr ? Observation{} : operator_->look(names);
  }
  if (pod == nullptr) return {fresh ? DriverState::kAbsent : DriverState::kUnknown};
  if (pod->run != names.run) return {};
  DriverPod driver = pod->driver;
  const auto disrupted = disrupted_.find(record.id);
  driver.executors_disrupted = disrupted == disrupted_.end() ? 0 : disrupted->second;
  const Observation seen = observe(driver);
  // An end stays an end. A pod that waits or runs may have changed meanwhile.
  if (!fresh && seen.state != DriverState::kEnded) return {};
  return seen;
}

// Puts a ConfigMap without properties in the place of the driver's. From then on no creation that is still on its way
// starts a driver: a late ConfigMap meets the name, and a late pod lacks the file that it mounts.
net::Task<Result<void>> KubernetesSide::fence(const DriverNames& names) {
  namespaces_.insert(names.ns);
  for (int tries = 0; tries < kFenceTries; ++tries) {
    auto there = co_await client_.get(kube::kConfigMaps, names.ns, names.config_map, kCallLimit);
    if (!there && there.error().kind != ErrorKind::kNotFound) co_return fail(std::move(there).error());
    if (there) {
      TM_CO_TRY(const Json map, Json::parse(*there));
      if (map.at("metadata", "labels", kFenceLabel) != nullptr) co_return Result<void>();
      auto removed = co_await client_.remove(kube::kConfigMaps, names.config_map, "", in(names.ns), kCallLimit);
      if (!done_or_gone(removed)) co_return removed;
    }
    auto created = co_await client_.create(kube::kConfigMaps, fence_object(names, owner_.store).dump(), in(names.ns),
                                           "", kCallLimit);
    if (done_or_gone(created)) co_return Result<void>();  // gone: without its namespace, nothing starts
    if (created.error().kind != ErrorKind::kAlreadyExists) co_return fail(std::move(created).error());
  }
  co_return fail(ErrorKind::kUnavailable, "ConfigMap ", names.config_map, " appears again and again");
}

net::Task<void> KubernetesSide::remove_old_fences() {
  while (true) {
    co_await loop_.sleep(kFenceAge);
    const auto namespaces = namespaces_;
    for (const std::string& ns : namespaces) {
      const auto removed = co_await remove_fences_before(ns, loop_.clock().wall() + (-kFenceAge));
      if (removed) continue;
      log_.warn("cannot remove old ConfigMaps of stopped drivers; retrying",
                {{"namespace", ns}, {"error", removed.error()}});
    }
  }
}

net::Task<Result<void>> KubernetesSide::remove_fences_before(std::string ns, base::WallTime time) {
  std::vector<std::string> old;
  kube::ListOptions options;
  options.ns = ns;
  options.label_selector = std::string(kFenceLabel);
  const auto on_page = [&](std::string_view page) -> Result<void> {
    TM_TRY(const Json list, Json::parse(page));
    const Json* items = list.at("items");
    if (items == nullptr || !items->is_array()) return {};
    for (const Json& item : items->as_array()) {
      const auto created = base::parse_rfc3339(item.text_at("metadata", "creationTimestamp"));
      if (!created || *created > time || item.text_at("metadata", "labels", kFenceLabel) != owner_.store) continue;
      old.emplace_back(item.text_at("metadata", "name"));
    }
    return {};
  };
  auto listed = co_await client_.list(kube::kConfigMaps, options, on_page, [&old] { old.clear(); }, kCallLimit);
  if (!listed) co_return fail(std::move(listed).error());
  for (const std::string& name : old) {
    auto removed = co_await client_.remove(kube::kConfigMaps, name, "", in(ns), kCallLimit);
    if (!done_or_gone(removed)) co_return removed;
  }
  co_return Result<void>();
}

net::Task<Stopped> KubernetesSide::stop(const Record& record) {
  const DriverNames names = names_of(record);
  const StopReason reason = record.run.attempts.back().stop;
  auto pod = co_await read_pod(names.ns, names.pod);
  if (!pod) co_return Stopped{.message = pod.error().message};
  // A driver that waits for a node never starts if it is deleted before it gets one: so a run may move whose sink is
  // not safe. If it has got one meanwhile, it goes on.
  const bool has_place = *pod && (*pod)->driver.has_node && !(*pod)->driver.deleted;
  if (has_place && stops_only_waiting(reason)) co_return Stopped{.outcome = Stopped::Outcome::kTooLate};
  if (*pod && !(*pod)->driver.deleted) {
    kube::WriteOptions options = in(names.ns);
    if (!(*pod)->driver.has_node) options.resource_version = (*pod)->meta.resource_version;
    auto deleted = co_await client_.remove(kube::kPods, names.pod, (*pod)->uid, options, kCallLimit);
    if (!done_or_gone(deleted)) co_return Stopped{.message = deleted.error().message};
  }
  if (record.run.attempts.back().way == Way::kSparkOperator) {
    if (operator_ == nullptr) co_return Stopped{.message = "the run belongs to Spark Operator; set --spark-operator"};
    auto removed = co_await operator_->remove(names);
    if (!removed) co_return Stopped{.message = removed.error().message};
  }
  auto fenced = co_await fence(names);
  if (!fenced) co_return Stopped{.message = fenced.error().message};
  pod = co_await read_pod(names.ns, names.pod);
  if (!pod) co_return Stopped{.message = pod.error().message};
  if (!*pod) {
    // The finalizer keeps a pod that was created. So there was none, unless another program removed the finalizer.
    const End end{.end_class = EndClass::kKilled, .never_started = reason == StopReason::kRefused};
    co_return Stopped{.outcome = Stopped::Outcome::kGone, .end = end};
  }
  const Observation seen = observe((*pod)->driver);
  if (seen.state != DriverState::kEnded) co_return Stopped{.message = "the driver pod still stops"};
  co_return Stopped{.outcome = Stopped::Outcome::kGone, .end = seen.end};
}

// ConfigMaps of pod templates that never got their owner, because there was no driver pod.
net::Task<Result<void>> KubernetesSide::remove_templates(const DriverNames& names) {
  const std::string selector =
      cat(kRunLabel, "=", names.run, ",", kAttemptLabel, "=", names.attempt, ",!", kFenceLabel);
  TM_CO_TRY(const auto left, co_await names_of_objects(client_, kube::kConfigMaps, names.ns, selector));
  for (const std::string& name : left) {
    auto removed = co_await client_.remove(kube::kConfigMaps, name, "", in(names.ns), kCallLimit);
    if (!done_or_gone(removed)) co_return fail(std::move(removed).error());
  }
  co_return Result<void>();
}

net::Task<Result<void>> KubernetesSide::remove_executors(std::string ns, std::string of) {
  const std::string selector = cat("spark-role=executor,", of);
  TM_CO_TRY(const auto left, co_await names_of_objects(client_, kube::kPods, ns, selector));
  for (const std::string& name : left) {
    auto removed = co_await client_.remove(kube::kPods, name, "", in(ns), kCallLimit);
    if (!done_or_gone(removed)) co_return fail(std::move(removed).error());
  }
  if (!left.empty()) co_return fail(ErrorKind::kUnavailable, left.size(), " executor pods still stop");
  co_return Result<void>();
}

net::Task<Result<void>> KubernetesSide::release(const Record& record, bool moves) {
  const DriverNames names = names_of(record);
  TM_CO_TRY(const auto pod, co_await read_pod(names.ns, names.pod));
  // Without its finalizer a deleted pod goes, and its name is free again.
  const bool frees_name = !pod || pod->driver.deleted;
  const Way way = record.run.attempts.back().way;
  if (moves || frees_name) TM_CO_TRY_VOID(co_await fence(names));
  if (moves) {
    // Spark Operator's spark-submit makes the id of the application, and only the pod of the driver has it.
    const bool id_is_lost = !pod && way == Way::kSparkOperator;
    const std::string of = id_is_lost ? cat(kRunLabel, "=", names.run, ",", kAttemptLabel, "=", names.attempt)
                                      : cat("spark-app-selector=", pod ? pod->app_id : names.app_id);
    TM_CO_TRY_VOID(co_await remove_executors(names.ns, of));
  }
  if (!pod && way == Way::kSparkSubmit) TM_CO_TRY_VOID(co_await remove_templates(names));
  disrupted_.erase(record.id);
  TM_CO_TRY_VOID(co_await remove_finalizer(client_, kube::kPods, names.ns, names.pod));
  if (way != Way::kSparkOperator) co_return Result<void>();
  if (operator_ == nullptr)
    co_return fail(ErrorKind::kUnavailable, "the run belongs to Spark Operator; set --spark-operator");
  co_return co_await operator_->release(names);
}

}  // namespace tidemark::gateway
