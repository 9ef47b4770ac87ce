// A Spark job as every door hands it over: the words of spark-submit in one form.
//
// Options that spark-submit has a property for are properties here (spark.driver.memory, spark.jars), so that a side
// translates one map. The dedicated option of a door wins over its `conf`, as in spark-submit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tidemark::gateway {

struct SparkJob {
  std::string file;        // primary resource: a jar or a Python file, with a scheme
  std::string class_name;  // "" for Python
  std::string name;        // spark.app.name
  std::vector<std::string> args;
  std::map<std::string, std::string> conf;
  std::string user;  // SPARK_USER; "" if the door names none

  bool is_python() const;
  std::string_view conf_or(std::string_view key, std::string_view otherwise) const;
};

// Our own properties of a job. They are not passed to Spark.
inline constexpr std::string_view kSideConf = "spark.tidemark.side";  // kubernetes or yarn: a pin
// Whether a run that has started may move: true, false, or only before its outputs have files of it (output_check.h).
inline constexpr std::string_view kRerunSafeConf = "spark.tidemark.rerunSafe";
inline constexpr std::string_view kBeforeCommit = "before-commit";
inline constexpr std::string_view kOutputsConf = "spark.tidemark.outputs";  // paths, with commas
inline constexpr std::string_view kFileScheme = "file://";
inline constexpr std::string_view kBusinessConf = "spark.tidemark.business";
// On a run that compares the outputs of both sides of a job: the name of the job. If the run fails, the job gets no
// place at Kubernetes until a comparison succeeds.
inline constexpr std::string_view kComparesConf = "spark.tidemark.compares";
inline constexpr std::string_view kClassConf = "spark.tidemark.class";  // class of offline work
inline constexpr std::string_view kDefaultClass = "spark";
inline constexpr std::string_view kOwnPrefix = "spark.tidemark.";

// Completes the job and checks it: client mode, R, local files and wrong values are refused by name.
Result<SparkJob> checked(SparkJob job);

Json to_json(const SparkJob& job);
Result<SparkJob> job_of(const Json& json);  // as to_json() wrote it

std::vector<std::string> outputs_of(const SparkJob& job);

// The cores that the job may use at most: of the driver and of all executors. nullopt: it has no limit, because it
// allocates executors as it needs them.
std::optional<std::int64_t> cores_of(const SparkJob& job);

// "3g", "512m", "1024" (MiB if there is no unit), in MiB. nullopt for wrong text.
std::optional<std::int64_t> memory_mib(std::string_view text);

}  // namespace tidemark::gateway
