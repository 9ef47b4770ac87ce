// Lines of the agent's record and of its audit from a time, as they stand in the files: the console examines them.
#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "journal/past_server.h"

namespace tidemark::agent {

inline constexpr std::size_t kPastLinesMax = std::size_t{4} << 20;  // bytes of one answer

// Lines of the record with a time in the range. kExhausted: more than `bytes_max`.
Result<std::string> record_lines(const std::string& path, base::WallTime from, base::WallTime to,
                                 std::size_t bytes_max = kPastLinesMax);
// The same of an audit, after its first line, which says how far it goes back, and the lines before the range that are
// about kernel files, since those may still be in force. Of these the oldest ones are left out first.
Result<std::string> audit_lines(const std::string& path, base::WallTime from, base::WallTime to,
                                std::size_t bytes_max = kPastLinesMax);

// `audit`: a path, or one of the words of journal/audit_file.h. /past/record and /past/audit, both ?from=…&to=…
journal::PastAnswers past_of_agent(const std::string& state_dir, const std::string& audit);

}  // namespace tidemark::agent
