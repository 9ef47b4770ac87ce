// Which outputs of a job have files of its first attempt. A job that declares rerunSafe=before-commit moves only if
// none has.
//
// A file counts if it was modified after the run was created, or up to kClockMargin before. What begins with `_` or `.`
// does not count, with all below it: Spark keeps files there until it commits. Another writer to the same folder counts
// as the attempt: then the run does not move.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "gateway/job.h"
#include "hadoop/web_hdfs.h"
#include "net/loop.h"

namespace tidemark::gateway {

// The clock of HDFS may be behind that of the gateway.
inline constexpr base::Duration kClockMargin = std::chrono::minutes(5);
inline constexpr std::size_t kOutputFoldersMax = 10'000;  // of one output; a larger one counts as begun

class OutputCheck {
 public:
  OutputCheck(net::EventLoop& loop, hadoop::HdfsAccess access) : loop_(loop), access_(std::move(access)) {}

  // An error means that a file system does not answer. A folder of the machine that the gateway does not see counts.
  net::Task<Result<std::vector<std::string>>> begun(SparkJob job, base::WallTime created) const;

 private:
  net::Task<Result<bool>> has_begun(std::string place, base::WallTime since) const;

  net::EventLoop& loop_;
  hadoop::HdfsAccess access_;
};

}  // namespace tidemark::gateway
