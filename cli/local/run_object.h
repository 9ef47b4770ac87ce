// What `tidemark local run` makes of a command: a Pod that runs on for online work, a Job of one pod for batch work.
// Pure.
//
//   class   QoS  is       asks for                                     what it may use
//   prod    LS   a Pod    cpu, memory                                  the memory at most
//   mid     BE   a Job    kubernetes.io/mid-cpu, mid-memory            both at most
//   batch   BE   a Job    kubernetes.io/batch-cpu, batch-memory        both at most
//   free    BE   a Job    nothing                                      what others leave
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/resource.h"
#include "model/qos.h"

namespace tidemark::cli {

inline constexpr std::string_view kLocalContainer = "main";
inline constexpr std::int64_t kRetriesMax = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t kEndedJobKept_s = std::int64_t{24} * 3600;

// One field for each flag.
struct RunOptions {
  std::vector<std::string> command;  // not empty
  std::string name;
  std::string ns = "default";
  model::PriorityClass work_class = model::PriorityClass::kBatch;
  std::string cpu = "1", memory = "1Gi";  // as the user wrote them
  bool says_amounts = false;              // one of them was written
  std::vector<std::string> environment;   // K=V; the last of a name counts
  std::string path, home;                 // of the caller
  std::string dir;                        // absolute
  std::int64_t retries = 0;               // of a job; kRetriesMax: until it succeeds

  bool online() const { return work_class == model::PriorityClass::kProd; }
};

// "train-x7k2pq" of {"./bin/Train.sh", …}: as many letters as one has to draw to be alone, and one more than the
// suffixes of a job's pods have.
std::string name_for(const std::vector<std::string>& command, base::Random& random);
// What is wrong with it as a name of a task; "" where nothing is.
std::string wrong_name(std::string_view name);

struct RunObject {
  kube::Resource resource;
  std::string body;
};
// kInvalid: an option that cannot be, by its flag.
Result<RunObject> run_object(const RunOptions& options);

}  // namespace tidemark::cli
