// The application of a Spark driver on YARN, as the body of the ResourceManager's REST API.
//
// Nothing is uploaded: the properties of the job and those of Hadoop's site files travel in the command of the
// ApplicationMaster, which writes them to a file. Spark's jars and the job's jar are on the nodes (local:).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gateway/job.h"

namespace tidemark::gateway {

struct YarnOptions {
  std::map<std::string, std::string> hadoop;  // the properties of core-site, hdfs-site and yarn-site
  std::string spark_jars;                     // spark.yarn.jars if the job names none: local:/opt/spark/jars/*
  std::string queue = "default";
};

// Empty if the native submission can run the job, else the reason.
std::string not_for_yarn(const SparkJob& job, const YarnOptions& options);

// The body of POST /ws/v1/cluster/apps. kInvalid: the job is too long for a command.
Result<std::string> yarn_submission(const SparkJob& job, std::string_view application_id,
                                    const std::vector<std::string>& tags, const YarnOptions& options);

// The properties file of the ApplicationMaster.
std::map<std::string, std::string> yarn_properties(const SparkJob& job, const YarnOptions& options);

}  // namespace tidemark::gateway
