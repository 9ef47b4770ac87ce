// Keeps the last log lines of an evicted pod's containers: the kubelet removes the logs with the pod, and the reason
// why a job died would be lost.
//
//   POD_LOGS/NS_NAME_UID/CONTAINER/0.log, 1.log …       read: of each container the newest, its last kLastWordsBytes
//   STATE_DIR/evicted/20261122T200000Z-NS-NAME/         written: CONTAINER.log, whole lines, and after them one of
//                                                       ours; the name gets the suffix -2 and so on if another pod's
//                                                       folder has it
//
//   evicted by tidemark: TM-EVICT-001 SENTENCE, BEMemoryEvict, memory 82 % of the node, the line is 70 %
//
// Only plain files in plain folders are read: links are not followed, so a runtime that links its logs elsewhere
// (docker) leaves nothing here. The logs of tasks that are not pods have no known place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "model/reason.h"
#include "model/task.h"
#include "net/loop.h"
#include "net/worker.h"
#include "policy/evict/gap.h"

namespace tidemark::agent {

inline constexpr std::string_view kPodLogsDefault = "/var/log/pods";
inline constexpr std::size_t kLastWordsBytes = std::size_t{16} << 10;  // of a container
inline constexpr std::size_t kLastWordsContainersMax = 32;             // of a pod, in the order of their names
inline constexpr std::size_t kLastWordsNamesMax = 1000;                // files of a container that are read
inline constexpr std::size_t kLastWordsFoldersMax = 200;               // that are kept
inline constexpr std::int64_t kLastWordsBytesMax = std::int64_t{64}
                                                   << 20;  // in all of them; then the oldest are removed
inline constexpr base::Duration kLastWordsLimit = std::chrono::seconds(1);  // how long an eviction waits for the disk

// "evicted by tidemark: …", without a line end. `seen` is the measured value that caused it.
std::string epitaph(model::Reason reason, policy::evict::EvictFeature feature, std::string_view seen);

struct Evicted {
  std::string ns, name, uid;
  std::string epitaph;
  base::WallTime at;
};
struct LastWordsKept {
  std::string folder;          // "": the pod has no logs, and no folder was made
  std::size_t containers = 0;  // whose lines were kept
  std::size_t gone = 0;        // older folders that were removed
};
// Blocks on the disk: call it on a worker. kInvalid: names that cannot be part of a path.
Result<LastWordsKept> keep_last_words(const std::string& pod_logs, const std::string& state_dir,
                                      const Evicted& evicted);

class LastWords {
 public:
  // Loop and files outlive it. state_dir "": nothing is kept.
  LastWords(net::EventLoop& loop, net::WorkerPool& files, base::Log log, std::string pod_logs, std::string state_dir);

  // Call it before the eviction request. False: nothing was kept, or not in time. The task may go meanwhile.
  net::Task<bool> keep(const model::Task& task, std::string epitaph);

 private:
  net::Task<bool> keep_of(Evicted evicted);
  net::Task<bool> keep_nothing();

  net::EventLoop& loop_;
  net::WorkerPool& files_;
  base::Log log_;
  std::string pod_logs_, state_dir_;
};

}  // namespace tidemark::agent
