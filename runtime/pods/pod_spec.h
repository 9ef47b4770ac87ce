// A Pod as something to run on this machine: there are no images here, so what an image would bring (a program, a
// root) is said in the specification or is the machine's own.
//
//   command, args        the program and its words; command is needed. $(NAME) is the value of a variable
//   env                  values, and fieldRef of metadata.*, spec.nodeName, status.hostIP, status.podIP
//   tidemark.io/rootfs   annotation: a folder of this machine that is the root of all of its containers
//   hostPath volumes     where the path inside is the path outside; any other volume is refused
//   ports, image         labels
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "kube/intern.h"
#include "model/pod.h"
#include "model/qos.h"
#include "policy/single_node/pod_life.h"

namespace tidemark::runtime {

struct ProbeSpec {
  enum class How : std::uint8_t { kExec, kTcp, kHttp };
  How how = How::kExec;
  std::vector<std::string> argv;  // kExec
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  bool https = false;
  std::string path = "/";
  std::vector<std::pair<std::string, std::string>> headers;
  base::Duration initial_delay{0};
  base::Duration period = std::chrono::seconds(10);
  base::Duration timeout = std::chrono::seconds(1);
  std::int32_t successes = 1;
  std::int32_t failures = 3;
  bool operator==(const ProbeSpec&) const = default;
};

struct RunContainer {
  std::string name;
  std::string image;  // a label
  policy::single_node::LifeRole role = policy::single_node::LifeRole::kMain;
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value"
  std::string working_dir;               // "": the root's
  model::ContainerResources resources;
  std::optional<std::int64_t> user, group;
  std::optional<ProbeSpec> startup, liveness, readiness;
};

struct RunPod {
  std::string uid, ns, name;
  std::string resource_version;
  std::string job_uid;  // of the Job that it belongs to; "": none
  policy::single_node::RestartPolicy restart = policy::single_node::RestartPolicy::kAlways;
  base::Duration grace = std::chrono::seconds(30);  // of its deletion, once that was said
  std::optional<base::Duration> active_deadline;
  bool deleted = false;
  model::PodPhase phase = model::PodPhase::kPending;
  std::optional<base::WallTime> started;         // as its status says
  std::map<std::string, std::int32_t> restarts;  // by container: the same
  model::KubeQos qos = model::KubeQos::kBestEffort;
  bool offline = true;  // by its QoS class, or by Kubernetes' own where it says none
  model::PodResources resources;
  std::string root;                      // "": the machine's
  std::vector<RunContainer> containers;  // init containers first
  std::string refused;                   // why it cannot run here: then its containers are not complete
  std::string object;                    // as the server has it; "" of one that is over

  bool terminal() const { return phase == model::PodPhase::kSucceeded || phase == model::PodPhase::kFailed; }
  std::size_t bytes() const;
};

// What is no Pod at all is an error. Of one that is over only what it takes to clear it away: ended pods are many.
Result<RunPod> read_pod(std::string_view object, kube::Interner& interner);

// "$(NAME)" by `environment`, "$$" as "$"; what is not known stays.
std::string expand(std::string_view text, const std::vector<std::string>& environment);

}  // namespace tidemark::runtime
