// What stays of a container's logs: ATTEMPT.log is bounded with all that was moved away of it (shim/log_file), and here
// all attempts together are. A container that is begun again and again leaves no more than that, and one that ended for
// good its last words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidemark::runtime {

struct LogSeen {
  std::string name;  // "3.log", "3.log.1"
  std::int64_t bytes = 0;
};

// Those that go: the oldest, until what stays is no more than `bytes_kept`. The newest stays, whatever it holds. What
// is no log of ours stays and does not count. Total.
std::vector<std::string> logs_to_drop(std::vector<LogSeen> files, std::int64_t bytes_kept);

// Of the files in a container's folder. What is not there is no trouble.
void keep_last_logs(const std::string& folder, std::int64_t bytes_kept);

}  // namespace tidemark::runtime
