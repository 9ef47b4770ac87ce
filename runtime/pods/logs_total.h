// What the logs of all pods take of the disk together. Each container's are bounded (pod_logs, shim/log_file), and many
// of them are still more than a disk that others need has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tidemark::runtime {

struct LogOnDisk {
  std::string path;
  std::int64_t bytes = 0;
  std::int64_t written = 0;  // by whatever clock: the larger, the later
  bool ended = false;        // its pod has
};

// Those that go, in this order, until what stays is no more than `bytes_max`: of pods that have ended the oldest first;
// then of the others what was moved away ("0.log.1"). What a container writes to now stays. Total.
std::vector<std::string> logs_beyond(std::vector<LogOnDisk> files, std::int64_t bytes_max);

// Of DIR/NAMESPACE_NAME_UID/CONTAINER/; how many files went.
std::size_t keep_logs_within(const std::string& dir, std::int64_t bytes_max,
                             const std::function<bool(const std::string& uid)>& has_ended);

}  // namespace tidemark::runtime
