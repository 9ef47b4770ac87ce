// The logs of one container of a task, over its pods, attempts and rotated files, read as far as they have grown:
//
//   ROOT/NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log     and before it ATTEMPT.log.1, ATTEMPT.log.2 …, the oldest last
//
// Files alone: it needs no server, and goes on where files are moved away between two looks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace tidemark::cli {

inline constexpr std::size_t kAttemptsOpen = 8;                   // the last ones; others write no more
inline constexpr std::size_t kLogLineMax = std::size_t{1} << 20;  // bytes; what is longer is handed on in pieces

// Whose logs are meant. What a server told of pods counts; where it told nothing, their names do.
struct LogSubject {
  std::string root;  // DATA_DIR/logs
  std::string ns, name;
  bool job = false;                 // its pods are called NAME-xxxxx
  std::vector<std::string> pods;    // uids that are its
  std::vector<std::string> others;  // uids of other tasks
  base::WallTime since_created;     // of a job: what began before that was another one's of that name
  std::string container;            // "": the only one
};

struct LogAttempt {
  std::string pod, uid, container;
  std::int64_t number = 0;
  std::string path;      // of the file that is written
  base::WallTime began;  // its first line; far away where there is none
};

// In the order in which they began. kInvalid: several containers, and none is named. None at all is an empty list.
Result<std::vector<LogAttempt>> find_attempts(const LogSubject& subject);

class LogFiles {
 public:
  // A line without its newline; `first`: of an attempt, because the last line of the attempt before may be incomplete.
  using Take = std::function<void(std::string_view line, bool first)>;

  // What was not read yet of these, in their order, and before it what is left in files that an earlier look opened and
  // that are gone. Others that are gone, or cannot be read, are passed over.
  void look(const std::vector<LogAttempt>& attempts, const Take& take);

 private:
  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t>;  // path of the attempt, device, inode
  struct Open {
    Fd file;  // held, so that its inode is not another file's
    std::string begun;
    bool seen = false;
  };
  void read_what_is_gone(const std::vector<LogAttempt>& attempts, const Take& take);
  void read_file(const LogAttempt& attempt, const std::string& path, bool& first, const Take& take);
  void read_on(Open& open, bool& first, const Take& take);

  std::map<Key, Open> open_;
  struct Progress {
    bool begun = false;  // something of it was read
    bool done = false;
  };
  std::map<std::string, Progress> progress_;  // by the attempt's path
};

}  // namespace tidemark::cli
