// Any bytes give a task within its limits, or an error that names a pod. A decoded task can be placed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/tasks/pod_task.h"
#include "base/check.h"
#include "kube/intern.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  kube::Interner interner;
  const auto pod = agent::decode_pod_task(bytes, {}, interner);
  if (!pod) {
    TM_CHECK(pod.error().kind == ErrorKind::kInvalid, "bad bytes are bad input");
    TM_CHECK(pod.error().message.starts_with("Pod"), "the error names what was decoded");
    return 0;
  }
  const model::Task& task = pod->task;
  TM_CHECK(!task.identity.task.empty() && task.path.empty(), "it has an id and no path yet");
  TM_CHECK(task.containers.size() <= model::kTaskContainersMax, "containers are bounded");
  TM_CHECK(task.bytes() <= model::kTaskBytesMax, "so is the whole");
  linux::LivePod live;
  live.path = "kubepods/podx";
  for (std::size_t i = 0; i < 3; ++i) live.containers.push_back({std::string(i, 'c'), "kubepods/podx/c"});
  const model::Task out = agent::placed(task, &live);
  TM_CHECK(out.path == live.path && out.containers.size() <= model::kTaskContainersMax, "placed within limits");
  const auto again = agent::decode_pod_task(bytes, {}, interner);
  TM_CHECK(again && again->task == task, "decoding depends on the bytes alone");
  return 0;
}
