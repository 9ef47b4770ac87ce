#include "runtime/jobs/job_object.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/queued_again.h"

namespace tidemark::runtime {
namespace {

using policy::single_node::JobEnd;
using policy::single_node::JobRule;

const Json kNone;

const Json& at(const Json& value, std::string_view key) {
  const Json* found = value.member(key);
  return found == nullptr ? kNone : *found;
}
template <class F>
void each(const Json& value, F&& what) {
  if (!value.is_array()) return;
  for (const Json& one : value.as_array()) what(one);
}
std::optional<base::Duration> seconds_at(const Json& value, std::string_view key) {
  const auto seconds = at(value, key).get_int();
  return seconds ? std::optional<base::Duration>(std::chrono::seconds(std::clamp<std::int64_t>(*seconds, 0, INT32_MAX)))
                 : std::nullopt;
}
std::vector<std::string> sorted_texts(const Json& value) {
  std::vector<std::string> out;
  each(value, [&](const Json& one) { out.emplace_back(one.get_string().value_or("")); });
  std::ranges::sort(out);
  return out;
}

struct EndWords {
  std::string_view reason, message;
};
EndWords words_of(JobEnd end) {
  switch (end) {
    case JobEnd::kBackoff:
      return {"BackoffLimitExceeded", "more of its pods failed than backoffLimit lets"};
    case JobEnd::kDeadline:
      return {"DeadlineExceeded", "it was not done within activeDeadlineSeconds"};
    case JobEnd::kPolicy:
      return {"PodFailurePolicy", "a rule of podFailurePolicy fails the job for how a pod ended"};
    case JobEnd::kComplete:
      return {"CompletionsReached", "as many pods have succeeded as were wanted"};
    case JobEnd::kNone:
      break;
  }
  return {};
}
JobEnd end_of(std::string_view reason) {
  for (const JobEnd end : {JobEnd::kBackoff, JobEnd::kDeadline, JobEnd::kPolicy, JobEnd::kComplete}) {
    if (words_of(end).reason == reason) return end;
  }
  return JobEnd::kNone;
}

void read_rules(const Json& spec, JobObject& out) {
  each(at(at(spec, "podFailurePolicy"), "rules"), [&](const Json& rule) {
    JobRule made;
    const std::string_view action = rule.text_at("action");
    if (action == "FailIndex") {
      out.refused = "spec.podFailurePolicy.rules: FailIndex is not done here: Ignore, Count and FailJob are";
    }
    made.action = action == "Ignore"    ? JobRule::Action::kIgnore
                  : action == "FailJob" ? JobRule::Action::kFailJob
                                        : JobRule::Action::kCount;
    const Json& exits = at(rule, "onExitCodes");
    made.container = exits.text_at("containerName");
    made.codes_in = exits.text_at("operator") != "NotIn";
    each(at(exits, "values"), [&](const Json& code) { made.codes.push_back(code.get_int().value_or(0)); });
    each(at(rule, "onPodConditions"), [&](const Json& condition) {
      const std::string_view status = condition.text_at("status");
      if (!status.empty() && status != "True") {
        out.refused = base::cat("spec.podFailurePolicy.rules: onPodConditions of status ", base::in_quotes(status),
                                " is not done here: \"True\" is");
      }
      made.conditions.emplace_back(condition.text_at("type"));
    });
    out.spec.rules.push_back(std::move(made));
  });
}

void read_spec(const Json& spec, JobObject& out) {
  policy::single_node::JobSpec& to = out.spec;
  to.completions = at(spec, "completions").get_int();
  to.parallelism = at(spec, "parallelism").get_int().value_or(1);
  to.backoff_limit = at(spec, "backoffLimit").get_int().value_or(to.backoff_limit);
  to.deadline = seconds_at(spec, "activeDeadlineSeconds");
  to.ttl = seconds_at(spec, "ttlSecondsAfterFinished");
  to.suspend = at(spec, "suspend").get_bool().value_or(false);
  to.indexed = spec.text_at("completionMode") == "Indexed";
  to.replaces_when_ended = spec.text_at("podReplacementPolicy") == "Failed";
  if (const Json* restarts = spec.at("template", "spec", "restartPolicy"))
    to.restarts_inside = restarts->get_string() == "OnFailure";
  for (const char* not_done : {"backoffLimitPerIndex", "successPolicy"}) {
    if (!at(spec, not_done).is_null()) out.refused = base::cat("spec.", not_done, ": is not done here");
  }
  const std::string_view manager = spec.text_at("managedBy");
  out.ours = manager.empty() || manager == "kubernetes.io/job-controller";
  read_rules(spec, out);
  out.pod_template = at(spec, "template").dump();
}

void read_state(const Json& status, JobObject& out) {
  policy::single_node::JobState& to = out.state;
  to.started = base::parse_rfc3339(status.text_at("startTime"));
  to.ended = base::parse_rfc3339(status.text_at("completionTime"));
  to.active = at(status, "active").get_int().value_or(0);
  to.ready = at(status, "ready").get_int().value_or(0);
  to.terminating = at(status, "terminating").get_int().value_or(0);
  to.succeeded = at(status, "succeeded").get_int().value_or(0);
  to.failed = at(status, "failed").get_int().value_or(0);
  to.uncounted_succeeded = sorted_texts(at(at(status, "uncountedTerminatedPods"), "succeeded"));
  to.uncounted_failed = sorted_texts(at(at(status, "uncountedTerminatedPods"), "failed"));
  to.completed = policy::single_node::parse_indexes(status.text_at("completedIndexes"));
  each(at(status, "conditions"), [&](const Json& condition) {
    const std::string type(condition.text_at("type"));
    const bool is = condition.text_at("status") == "True";
    out.conditions[type] = {is, std::string(condition.text_at("lastTransitionTime"))};
    if (type == "Suspended") to.suspended = is;
    if (!is) return;
    if (type == "SuccessCriteriaMet" || type == "FailureTarget") to.decided = end_of(condition.text_at("reason"));
    if (type != "Complete" && type != "Failed") return;
    to.over = true;
    if (!to.ended) to.ended = base::parse_rfc3339(condition.text_at("lastTransitionTime"));
    if (to.decided == JobEnd::kNone) {
      to.decided = type == "Complete" ? JobEnd::kComplete : end_of(condition.text_at("reason"));
    }
  });
}

class Status {
 public:
  Status(const JobObject& job, base::WallTime now) : job_(job), now_(base::format_rfc3339(now)), out_(text_) {
    out_.begin_object().key("metadata").begin_object();
    out_.member("resourceVersion", job.resource_version).end_object();
    out_.key("status").begin_object();
  }
  base::JsonWriter& out() { return out_; }
  void amount(std::string_view key, std::int64_t value) { value == 0 ? out_.key(key).null() : out_.member(key, value); }
  void time(std::string_view key, const std::optional<base::WallTime>& value) {
    value ? out_.member(key, base::format_rfc3339(*value)) : out_.key(key).null();
  }
  void condition(std::string_view type, bool is, std::string_view reason, std::string_view message) {
    const auto before = job_.conditions.find(type);
    const bool same = before != job_.conditions.end() && before->second.is == is;
    out_.begin_object().member("type", type).member("status", std::string_view(is ? "True" : "False"));
    out_.member("reason", reason).member("message", message).member("lastProbeTime", now_);
    out_.member("lastTransitionTime", same ? before->second.since : now_).end_object();
  }
  std::string finish() {
    out_.end_object().end_object();
    return std::move(text_);
  }

 private:
  const JobObject& job_;
  std::string now_, text_;
  base::JsonWriter out_;
};

}  // namespace

std::size_t JobObject::bytes() const {
  return sizeof(JobObject) + pod_template.size() + state.completed.size() * sizeof(std::int64_t) +
         (state.uncounted_succeeded.size() + state.uncounted_failed.size()) * (sizeof(std::string) + uid.size());
}

Result<JobObject> read_job(std::string_view object) {
  TM_TRY(const Json tree, Json::parse(object));
  JobObject out;
  const Json& meta = at(tree, "metadata");
  out.uid = meta.text_at("uid");
  out.ns = meta.text_at("namespace");
  out.name = meta.text_at("name");
  out.resource_version = meta.text_at("resourceVersion");
  out.spec.deleted = meta.member("deletionTimestamp") != nullptr;
  if (out.name.empty()) return fail(ErrorKind::kInvalid, "a Job without metadata.name");
  const Json& annotations = at(meta, "annotations");
  out.queued_again = model::queued_again(annotations.text_at(model::kQueuedAgainAnnotation));
  for (const std::string_view uid : base::split(annotations.text_at(model::kQueuedAgainPodsAnnotation), ',')) {
    if (!uid.empty()) out.queued_again_pods.emplace_back(uid);
  }
  read_spec(at(tree, "spec"), out);
  read_state(at(tree, "status"), out);
  if (out.state.over) out.pod_template = {};  // nothing is made of it any more
  return out;
}

std::size_t JobPodObject::bytes() const {
  return sizeof(JobPodObject) + 2 * pod.uid.size() + pod.name.size() + pod.conditions.size() * sizeof(std::string);
}

Result<JobPodObject> read_job_pod(std::string_view object) {
  TM_TRY(const Json tree, Json::parse(object));
  JobPodObject out;
  const Json& meta = at(tree, "metadata");
  out.ns = meta.text_at("namespace");
  out.resource_version = meta.text_at("resourceVersion");
  out.pod.name = meta.text_at("name");
  out.pod.uid = meta.text_at("uid");
  if (out.pod.name.empty()) return fail(ErrorKind::kInvalid, "a Pod without metadata.name");
  out.pod.deleted = meta.member("deletionTimestamp") != nullptr;
  out.pod.kept = false;
  each(at(meta, "finalizers"),
       [&](const Json& one) { out.pod.kept = out.pod.kept || one.get_string() == kJobFinalizer; });
  each(at(meta, "ownerReferences"), [&](const Json& owner) {
    if (owner.text_at("kind") == "Job" && at(owner, "controller").get_bool().value_or(false)) {
      out.job_uid = owner.text_at("uid");
    }
  });
  out.pod.index = base::parse_int(at(meta, "annotations").text_at(kJobIndexAnnotation));
  out.pod.bound = !tree.text_at("spec", "nodeName").empty();
  const Json& status = at(tree, "status");
  out.pod.phase = model::parse_pod_phase(status.text_at("phase"));
  // One that ended without a container that did (it never began, or is lost) ended when its status last turned.
  std::optional<base::WallTime> turned = base::parse_rfc3339(meta.text_at("creationTimestamp"));
  each(at(status, "conditions"), [&](const Json& one) {
    turned = std::max(turned, base::parse_rfc3339(one.text_at("lastTransitionTime")));
    if (one.text_at("status") != "True") return;
    out.pod.conditions.emplace_back(one.text_at("type"));
    if (one.text_at("type") == "Ready") out.pod.ready = true;
  });
  std::optional<base::WallTime> last_end;
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    each(at(status, list), [&](const Json& one) {
      out.pod.restarts += at(one, "restartCount").get_int().value_or(0);
      const Json* ended = one.at("state", "terminated");
      if (ended == nullptr) return;
      out.pod.exits.push_back({std::string(one.text_at("name")), at(*ended, "exitCode").get_int().value_or(0)});
      last_end = std::max(last_end, base::parse_rfc3339(ended->text_at("finishedAt")));
    });
  }
  if (out.pod.over()) out.ended = last_end ? last_end : turned;
  return out;
}

std::string pod_of_job(const JobObject& job, std::string_view name, std::optional<std::int64_t> index) {
  Json pod = Json::parse(job.pod_template).value_or(Json());
  if (!pod.is_object()) pod = Json::object();
  const auto object_at = [](Json& parent, std::string_view key) -> Json& {
    Json& child = parent[key];
    if (!child.is_object()) child = Json::object();
    return child;
  };
  Json& meta = object_at(pod, "metadata");
  meta["name"] = name;
  // As in Kubernetes: tools group pods by generateName.
  meta["generateName"] = name.substr(0, name.rfind('-') + 1);
  meta["finalizers"] = Json::array({Json(kJobFinalizer)});
  meta["ownerReferences"] = Json::array({Json::object({{"apiVersion", "batch/v1"},
                                                       {"kind", "Job"},
                                                       {"name", job.name},
                                                       {"uid", job.uid},
                                                       {"controller", true},
                                                       {"blockOwnerDeletion", true}})});
  if (index) object_at(meta, "annotations")[kJobIndexAnnotation] = base::cat(*index);
  Json& labels = object_at(meta, "labels");
  for (const char* prefix : {"", "batch.kubernetes.io/"}) {
    labels[base::cat(prefix, "job-name")] = job.name;
    labels[base::cat(prefix, "controller-uid")] = job.uid;
  }
  if (!index) return pod.dump();
  labels[kJobIndexAnnotation] = base::cat(*index);
  Json& spec = object_at(pod, "spec");
  for (const char* list : {"initContainers", "containers"}) {
    Json* containers = spec.as_object().find(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (Json& container : containers->as_array()) {
      if (!container.is_object()) continue;
      Json& env = container["env"];
      if (!env.is_array()) env = Json::array();
      env.as_array().push_back(Json::object({{"name", "JOB_COMPLETION_INDEX"}, {"value", base::cat(*index)}}));
    }
  }
  return pod.dump();
}

std::string job_status(const JobObject& job, const policy::single_node::JobState& state, base::WallTime now) {
  Status status(job, now);
  base::JsonWriter& out = status.out();
  status.amount("active", state.active);
  status.amount("ready", state.ready);
  status.amount("terminating", state.terminating);
  status.amount("succeeded", state.succeeded);
  status.amount("failed", state.failed);
  status.time("startTime", state.started);
  status.time("completionTime", state.over && state.decided == JobEnd::kComplete ? state.ended : std::nullopt);
  const std::string indexes = policy::single_node::index_text(state.completed);
  indexes.empty() ? out.key("completedIndexes").null() : out.member("completedIndexes", indexes);
  out.key("uncountedTerminatedPods").begin_object();
  for (const auto& [key, uids] :
       {std::pair{"succeeded", &state.uncounted_succeeded}, {"failed", &state.uncounted_failed}}) {
    out.key(key).begin_array();
    for (const std::string& uid : *uids) out.value(uid);
    out.end_array();
  }
  out.end_object();
  out.key("conditions").begin_array();
  if (state.suspended || job.conditions.contains("Suspended")) {
    status.condition("Suspended", state.suspended, state.suspended ? "JobSuspended" : "JobResumed",
                     state.suspended ? "spec.suspend is true: nothing of it runs" : "it goes on");
  }
  if (state.decided != JobEnd::kNone) {
    const bool good = state.decided == JobEnd::kComplete;
    const EndWords words = words_of(state.decided);
    status.condition(good ? "SuccessCriteriaMet" : "FailureTarget", true, words.reason, words.message);
    if (state.over) status.condition(good ? "Complete" : "Failed", true, words.reason, words.message);
  }
  out.end_array();
  return status.finish();
}

std::string queued_again_note(const JobObject& job, const std::vector<std::string>& pods) {
  const auto more = std::ranges::count_if(pods, [&](const std::string& uid) {
    return std::ranges::find(job.queued_again_pods, uid) == job.queued_again_pods.end();
  });
  const Json notes = Json::object({{model::kQueuedAgainAnnotation, base::cat(job.queued_again + more)},
                                   {model::kQueuedAgainPodsAnnotation, base::join(pods, ",")}});
  return Json::object({{"metadata", Json::object({{"resourceVersion", job.resource_version}, {"annotations", notes}})}})
      .dump();
}

std::string refused_status(const JobObject& job, base::WallTime now) {
  Status status(job, now);
  status.out().key("conditions").begin_array();
  status.condition("Failed", true, "CannotRunHere", job.refused);
  status.out().end_array();
  return status.finish();
}

}  // namespace tidemark::runtime
