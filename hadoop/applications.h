// Application reports of a ResourceManager, and the calls that reserve, list and kill applications.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::hadoop {

inline constexpr std::size_t kApplicationTagsMax = 64;
inline constexpr std::size_t kApplicationTextBytesMax = 1024;    // of a name, a tag; longer ones are cut
inline constexpr std::size_t kApplicationDiagnosticsMax = 4096;  // bytes; the rest is cut

struct ApplicationId {
  std::int64_t cluster_start_ms = 0;
  std::int32_t number = 0;
  auto operator<=>(const ApplicationId&) const = default;
};
// "application_1700000000000_0001"
Result<ApplicationId> parse_application_id(std::string_view text);
std::string to_string(const ApplicationId& id);

struct ApplicationReport {
  std::string user;
  std::string queue;
  std::string name;
  std::string type;  // MAPREDUCE, SPARK, YARN, …
  std::vector<std::string> tags;
  std::int32_t priority = 0;
  bool operator==(const ApplicationReport&) const = default;
};

std::string encode_get_application_report(const ApplicationId& id);
Result<ApplicationReport> decode_get_application_report(std::string_view response);

// How far an application is.
struct ApplicationState {
  std::string id;
  std::string state;         // NEW, NEW_SAVING, SUBMITTED, ACCEPTED, RUNNING, FINISHED, FAILED, KILLED
  std::string final_status;  // UNDEFINED, SUCCEEDED, FAILED, KILLED, ENDED
  std::string diagnostics;
  std::string master_log;         // URL of the log of its master; "" before it has one
  std::vector<std::string> tags;  // in lower case
};

Result<ApplicationId> decode_get_new_application(std::string_view response);
std::string encode_kill_application(const ApplicationId& id);
// Applications with the tag that have not ended.
std::string encode_get_running_applications(std::string_view tag);
Result<std::vector<ApplicationState>> decode_get_applications(std::string_view response);
// Without the log of the master, whose container the last attempt names: `attempt` gets it as bytes, "" if there is
// none yet. Then the report of the attempt names the container, and the report of the container the log.
Result<ApplicationState> decode_application_state(std::string_view response, std::string& attempt);
std::string encode_get_report_of(std::string_view id);  // of an attempt or a container, by its id as bytes
Result<std::string> decode_master_container(std::string_view response);
Result<std::string> decode_container_log(std::string_view response);

}  // namespace tidemark::hadoop
