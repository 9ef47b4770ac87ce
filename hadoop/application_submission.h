// An application as it is submitted to YARN, for both of the ResourceManager's interfaces.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tidemark::hadoop {

// A file in HDFS that YARN copies to a container.
struct LocalResource {
  std::string link;  // its path in the working directory of a container
  std::string url;
  bool archive = false;    // YARN unpacks it
  std::int64_t bytes = 0;  // these two must be as HDFS has them, or YARN starts no container
  std::int64_t modified_ms = 0;
  bool operator==(const LocalResource&) const = default;
};

struct MasterContainer {
  std::string command;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<LocalResource> files;
  std::string tokens{};  // as Hadoop's Credentials writes them; "": none
};

struct ApplicationSubmission {
  std::string id;
  std::string name;
  std::string type;
  std::string queue;
  std::int64_t priority = 0;
  std::vector<std::string> tags;
  std::int64_t memory_mib = 0;
  std::int64_t cores = 0;
  MasterContainer master;  // started once
};

// The body of POST /ws/v1/cluster/apps.
std::string submission_json(const ApplicationSubmission& submission);
// SubmitApplicationRequestProto. kInvalid: a wrong id, or a file without scheme, host or path.
Result<std::string> encode_submit_application(const ApplicationSubmission& submission);

}  // namespace tidemark::hadoop
