// What the agent of a node recorded in a time range, from the files of its state directory.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

namespace tidemark::cli {

// {"schema":1,"node":…,"records":[{"at":…,"seconds":30,"permit":"enforce","cpus":8,"used":…,"offline":…,"limit":…,
//  "memoryTotal":…,"memoryUsed":…,"memoryOffline":…,"cpuPressure":…,"tasks":[…],"events":[…]}],
//  "containers":{"at":…,"rows":[{"source":"yarn","name":…,"cpu":…,"memory":…,"throttled":…,"cpuPressure":…,
//                                "class":"spark","limits":[{"container":"","file":"cpu.cfs_quota_us","value":"50000",
//                                                           "state":"inForce","reason":{"id":…,"text":…}}]}]},
//  "pods":{"at":…,"rows":[{"namespace":…,"name":…,"class":…,"limits":[…]}]}}
// CPU is in milli-cores, memory in bytes, pressure in thousandths of the time; null is unknown. `tasks` are those that
// waited or were limited. `containers` are those of YARN in the last record of the time, and `pods` the offline pods,
// with their limits as of the last full record (model/node_record.h); null: no full record is in the time.
// kNotFound: the directory has no record of the node.
Result<Json> node_record_json(const std::string& state_dir, const std::string& node, base::WallTime from,
                              base::WallTime to);
// The same from lines of such a file.
Result<Json> node_record_json_of(std::string_view lines, const std::string& node, base::WallTime from,
                                 base::WallTime to);

}  // namespace tidemark::cli
