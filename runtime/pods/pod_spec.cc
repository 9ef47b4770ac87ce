#include "runtime/pods/pod_spec.h"

#include <algorithm>

#include "base/text.h"
#include "kube/convert.h"
#include "kube/objects.h"
#include "model/names.h"
#include "model/task.h"

namespace tidemark::runtime {
namespace {

// On a pod of `tidemark up`: the directory that is the root of its containers.
constexpr std::string_view kRootAnnotation = "tidemark.io/rootfs";
constexpr std::string_view kOwnAddress = "127.0.0.1";
constexpr std::string_view kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view kDownwardMaps[] = {"metadata.labels['", "metadata.annotations['"};

const base::Json kNone;

const base::Json& at(const base::Json& value, std::string_view key) {
  const base::Json* found = value.member(key);
  return found == nullptr ? kNone : *found;
}
template <class F>
void each(const base::Json& value, F&& what) {
  if (!value.is_array()) return;
  for (std::size_t i = 0; i < value.as_array().size(); ++i) what(value.as_array()[i], i);
}
std::vector<std::string> texts(const base::Json& value) {
  std::vector<std::string> out;
  each(value, [&](const base::Json& one, std::size_t) { out.emplace_back(one.get_string().value_or("")); });
  return out;
}
base::Duration seconds_of(const base::Json& value, base::Duration otherwise) {
  const auto seconds = value.get_int();
  // The server has checked the bounds of what people write; what it stored before is bounded here.
  return seconds ? std::chrono::seconds(std::clamp<std::int64_t>(*seconds, 0, INT32_MAX)) : otherwise;
}

class Reader {
 public:
  Reader(const base::Json& pod, RunPod& out) : pod_(pod), spec_(at(pod, "spec")), out_(out) {}

  void read() {
    read_pod_level();
    check_pod_security();
    read_volumes();
    read_containers("initContainers");
    read_containers("containers");
    // The agent ignores a pod with more containers: nothing would limit or evict it.
    if (out_.containers.size() > model::kTaskContainersMax) {
      refuse("spec.containers: ", out_.containers.size(), " with those of spec.initContainers: at most ",
             model::kTaskContainersMax, " of a pod here");
    }
  }

 private:
  template <class... Parts>
  void refuse(const Parts&... why) {
    if (out_.refused.empty()) out_.refused = base::cat(why...);
  }

  void read_pod_level() {
    const std::string_view restart = spec_.text_at("restartPolicy");
    out_.restart = restart == "Never"       ? policy::single_node::RestartPolicy::kNever
                   : restart == "OnFailure" ? policy::single_node::RestartPolicy::kOnFailure
                                            : policy::single_node::RestartPolicy::kAlways;
    out_.grace = seconds_of(at(spec_, "terminationGracePeriodSeconds"), out_.grace);
    out_.deleted = pod_.at("metadata", "deletionTimestamp") != nullptr;
    if (const base::Json* grace = pod_.at("metadata", "deletionGracePeriodSeconds")) {
      out_.grace = seconds_of(*grace, out_.grace);
    }
    if (const auto limit = at(spec_, "activeDeadlineSeconds").get_int()) {
      out_.active_deadline = std::chrono::seconds(std::clamp<std::int64_t>(*limit, 0, INT32_MAX));
    }
    each(at(at(pod_, "metadata"), "ownerReferences"), [this](const base::Json& owner, std::size_t) {
      if (owner.text_at("kind") == "Job") out_.job_uid = owner.text_at("uid");
    });
    const model::Qos said = model::parse_qos(pod_.text_at("metadata", "labels", model::kQosClassLabel));
    out_.offline = model::qos_with_default(said, out_.qos) == model::Qos::kBe;
    out_.root = pod_.text_at("metadata", "annotations", kRootAnnotation);
    if (!out_.root.empty() && !out_.root.starts_with('/')) {
      refuse("metadata.annotations[", kRootAnnotation, "]: ", base::in_quotes(out_.root), " does not begin with /");
    }
    each(at(at(pod_, "status"), "containerStatuses"), [this](const base::Json& one, std::size_t) { restarts(one); });
    each(at(at(pod_, "status"), "initContainerStatuses"),
         [this](const base::Json& one, std::size_t) { restarts(one); });
  }
  void restarts(const base::Json& status) {
    out_.restarts[std::string(status.text_at("name"))] =
        static_cast<std::int32_t>(at(status, "restartCount").get_int().value_or(0));
  }

  void read_volumes() {
    each(at(spec_, "volumes"), [this](const base::Json& volume, std::size_t) {
      paths_[std::string(volume.text_at("name"))] = std::string(volume.text_at("hostPath", "path"));
    });
  }

  void read_containers(std::string_view list) {
    each(at(spec_, list), [&](const base::Json& container, std::size_t i) {
      RunContainer out;
      place_ = base::cat("spec.", list, "[", i, "]");
      out.name = container.text_at("name");
      out.image = container.text_at("image");
      if (list == "initContainers") {
        const bool sidecar = container.text_at("restartPolicy") == "Always";
        out.role = sidecar ? policy::single_node::LifeRole::kSidecar : policy::single_node::LifeRole::kInit;
      }
      read_environment(container, out);
      read_program(container, out);
      read_security(container, out);
      each(at(container, "volumeMounts"), [this](const base::Json& mount, std::size_t m) { check_mount(mount, m); });
      out.startup = read_probe(container, "startupProbe");
      out.liveness = read_probe(container, "livenessProbe");
      out.readiness = read_probe(container, "readinessProbe");
      if (at(container, "lifecycle").is_object()) refuse(place_, ".lifecycle: hooks are not run here");
      out_.containers.push_back(std::move(out));
    });
  }

  void read_environment(const base::Json& container, RunContainer& out) {
    if (!at(container, "envFrom").is_null()) refuse(place_, ".envFrom: variables are values or fieldRef here");
    bool has_path = false;
    each(at(container, "env"), [&](const base::Json& variable, std::size_t i) {
      const std::string_view name = variable.text_at("name");
      std::string value;
      if (const base::Json& from = at(variable, "valueFrom"); from.is_object()) {
        const std::string_view path = from.text_at("fieldRef", "fieldPath");
        const auto field = path.empty() ? std::nullopt : field_of(path);
        if (!field) {
          refuse(place_, ".env[", i, "].valueFrom: ",
                 path.empty() ? std::string("only fieldRef is known here")
                              : base::cat("the field ", base::in_quotes(path), " is not known here"));
        }
        value = field.value_or("");
      } else {
        value = expand(variable.text_at("value"), out.environment);
      }
      has_path = has_path || name == "PATH";
      out.environment.push_back(base::cat(name, "=", value));
    });
    if (!has_path) out.environment.emplace_back(kPath);
  }

  std::optional<std::string> field_of(std::string_view path) const {
    if (path == "metadata.name") return out_.name;
    if (path == "metadata.namespace") return out_.ns;
    if (path == "metadata.uid") return out_.uid;
    if (path == "spec.nodeName") return std::string(spec_.text_at("nodeName"));
    if (path == "spec.serviceAccountName") return std::string(spec_.text_at("serviceAccountName"));
    if (path == "status.hostIP" || path == "status.podIP") return std::string(kOwnAddress);
    for (const std::string_view map : kDownwardMaps) {
      if (!path.starts_with(map) || !path.ends_with("']")) continue;
      const std::string_view key = path.substr(map.size(), path.size() - map.size() - 2);
      return std::string(pod_.text_at("metadata", map == kDownwardMaps[0] ? "labels" : "annotations", key));
    }
    return std::nullopt;
  }

  void read_program(const base::Json& container, RunContainer& out) {
    out.argv = texts(at(container, "command"));
    if (out.argv.empty()) {
      refuse(place_, ".command: is needed here: images, which would say what to run, are not used");
      return;
    }
    for (std::string& word : texts(at(container, "args"))) out.argv.push_back(std::move(word));
    for (std::string& word : out.argv) word = expand(word, out.environment);
    out.working_dir = container.text_at("workingDir");
  }

  void read_security(const base::Json& container, RunContainer& out) {
    const auto said = [&](std::string_view key) {
      const base::Json* own = container.at("securityContext", key);
      if (own == nullptr) own = spec_.at("securityContext", key);
      return own == nullptr ? std::nullopt : own->get_int();
    };
    out.user = said("runAsUser");
    out.group = said("runAsGroup");
    if (!out.group && out.user) out.group = out.user == 0 ? 0 : out.user;
    check_user(container, out);
    check_tightened(at(container, "securityContext"), base::cat(place_, ".securityContext"));
  }

  void check_user(const base::Json& container, const RunContainer& out) {
    const base::Json* own = container.at("securityContext", "runAsNonRoot");
    if (own == nullptr) own = spec_.at("securityContext", "runAsNonRoot");
    if (own == nullptr || !own->get_bool().value_or(false) || out.user.value_or(0) != 0) return;
    refuse(place_, ".securityContext.runAsNonRoot: needs a runAsUser other than 0, because no image sets one");
  }

  // Refuses settings that reduce the rights of a container and are not implemented here: running it would break the
  // promise. Settings that add rights (privileged, added capabilities) change nothing: it has the rights of its user.
  void check_tightened(const base::Json& security, const std::string& place) {
    const auto is = [&](std::string_view key, bool value) { return at(security, key).get_bool() == value; };
    if (is("readOnlyRootFilesystem", true)) refuse(place, ".readOnlyRootFilesystem: is not done here");
    if (is("allowPrivilegeEscalation", false)) refuse(place, ".allowPrivilegeEscalation: false is not done here");
    const base::Json& dropped = at(at(security, "capabilities"), "drop");
    if (dropped.is_array() && !dropped.as_array().empty()) refuse(place, ".capabilities.drop: is not done here");
    for (const std::string_view key : {"seccompProfile", "appArmorProfile"}) {
      const std::string_view type = at(security, key).text_at("type");
      if (!type.empty() && type != "Unconfined") refuse(place, ".", key, ": only Unconfined is done here");
    }
    if (at(security, "seLinuxOptions").is_object()) refuse(place, ".seLinuxOptions: is not done here");
  }

  void check_pod_security() {
    const base::Json& security = at(spec_, "securityContext");
    if (!at(security, "fsGroup").is_null()) refuse("spec.securityContext.fsGroup: is not done here");
    const base::Json& groups = at(security, "supplementalGroups");
    if (groups.is_array() && !groups.as_array().empty()) {
      refuse("spec.securityContext.supplementalGroups: is not done here");
    }
    check_tightened(security, "spec.securityContext");
  }

  void check_mount(const base::Json& mount, std::size_t m) {
    const auto found = paths_.find(std::string(mount.text_at("name")));
    std::string inside(mount.text_at("mountPath"));
    if (found != paths_.end() && !found->second.empty() && found->second == inside) return;
    refuse(place_, ".volumeMounts[", m, "]: containers see this machine's own folders: only a hostPath whose path is ",
           "its mountPath can be had");
  }

  std::optional<ProbeSpec> read_probe(const base::Json& container, std::string_view key) {
    const base::Json& probe = at(container, key);
    if (!probe.is_object()) return std::nullopt;
    ProbeSpec out;
    out.initial_delay = seconds_of(at(probe, "initialDelaySeconds"), out.initial_delay);
    out.period = std::max<base::Duration>(seconds_of(at(probe, "periodSeconds"), out.period), std::chrono::seconds(1));
    out.timeout =
        std::max<base::Duration>(seconds_of(at(probe, "timeoutSeconds"), out.timeout), std::chrono::seconds(1));
    const auto count = [&](std::string_view name, std::int32_t otherwise) {
      return static_cast<std::int32_t>(
          std::clamp<std::int64_t>(at(probe, name).get_int().value_or(otherwise), 1, 1000000));
    };
    out.successes = count("successThreshold", out.successes);
    out.failures = count("failureThreshold", out.failures);
    if (const base::Json& exec = at(probe, "exec"); exec.is_object()) {
      out.argv = texts(at(exec, "command"));
    } else if (const base::Json& http = at(probe, "httpGet"); http.is_object()) {
      out.how = ProbeSpec::How::kHttp;
      read_target(http, container, key, out);
      out.https = http.text_at("scheme") == "HTTPS";
      if (const std::string_view path = http.text_at("path"); !path.empty()) out.path = path;
      each(at(http, "httpHeaders"), [&](const base::Json& header, std::size_t) {
        out.headers.emplace_back(header.text_at("name"), header.text_at("value"));
      });
    } else if (const base::Json& tcp = at(probe, "tcpSocket"); tcp.is_object()) {
      out.how = ProbeSpec::How::kTcp;
      read_target(tcp, container, key, out);
    } else {
      refuse(place_, ".", key, ": exec, httpGet and tcpSocket are known here");
    }
    return out;
  }

  void read_target(const base::Json& action, const base::Json& container, std::string_view key, ProbeSpec& out) {
    if (const std::string_view host = action.text_at("host"); !host.empty()) out.host = host;
    std::optional<std::int64_t> port = at(action, "port").get_int();
    if (const auto name = at(action, "port").get_string()) {
      each(at(container, "ports"), [&](const base::Json& one, std::size_t) {
        if (one.text_at("name") == *name) port = at(one, "containerPort").get_int();
      });
      if (!port) port = base::parse_int(*name);
    }
    if (!port || *port < 1 || *port > 65535) {
      refuse(place_, ".", key, ".port: no port of this container");
      return;
    }
    out.port = static_cast<std::uint16_t>(*port);
  }

  const base::Json& pod_;
  const base::Json& spec_;
  RunPod& out_;
  std::string place_;
  std::map<std::string, std::string> paths_;  // of volumes; "" of those that are no hostPath
};

void forget_how_it_runs(RunPod& pod) {
  for (RunContainer& each : pod.containers) {
    each.argv = {};
    each.environment = {};
  }
}

}  // namespace

std::string expand(std::string_view text, const std::vector<std::string>& environment) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    if (text[i + 1] == '$') {
      out += '$';
      ++i;
      continue;
    }
    const std::size_t end = text[i + 1] == '(' ? text.find(')', i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[i];
      continue;
    }
    const std::string_view name = text.substr(i + 2, end - i - 2);
    // The last one of a name counts.
    const auto found = std::ranges::find_if(environment.rbegin(), environment.rend(), [&](const std::string& one) {
      return one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=';
    });
    out += found == environment.rend() ? text.substr(i, end - i + 1) : std::string_view(*found).substr(name.size() + 1);
    i = end;
  }
  return out;
}

std::size_t RunPod::bytes() const {
  // The parsed form is about as large as the text that it came from.
  return sizeof(RunPod) + 2 * object.size() + containers.size() * sizeof(RunContainer);
}

Result<RunPod> read_pod(std::string_view object, kube::Interner& interner) {
  TM_TRY(const kube::Pod pod, kube::decode_pod(object, {}, interner));
  TM_TRY(const base::Json tree, base::Json::parse(object));
  RunPod out;
  out.uid = pod.meta.uid;
  out.ns = pod.meta.ns;
  out.name = pod.meta.name;
  out.resource_version = pod.meta.resource_version;
  out.phase = pod.phase;
  out.started = pod.started;
  out.resources = kube::to_pod_resources(pod);
  out.qos = pod.qos.value_or(model::kube_qos(out.resources));
  Reader(tree, out).read();
  for (std::size_t i = 0, init = 0, main = 0; i < out.containers.size(); ++i) {
    const bool is_main = out.containers[i].role == policy::single_node::LifeRole::kMain;
    const auto& from = is_main ? out.resources.containers : out.resources.init_containers;
    const std::size_t place = is_main ? main++ : init++;
    if (place < from.size()) out.containers[i].resources = from[place];
  }
  if (out.terminal()) {
    forget_how_it_runs(out);
  } else {
    out.object = object;
  }
  return out;
}

}  // namespace tidemark::runtime
