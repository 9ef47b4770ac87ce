// The application of a Spark driver on YARN, as the body of the ResourceManager's REST API.
//
// The properties of the job and those of Hadoop's site files travel in the command of the ApplicationMaster, which
// writes them to a file. Spark's jars are on the nodes (local:). Files of the job are on the nodes too, or in HDFS:
// then YARN copies them to its containers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "gateway/job.h"

namespace tidemark::gateway {

struct YarnOptions {
  std::map<std::string, std::string> hadoop;  // the properties of core-site, hdfs-site and yarn-site
  std::string spark_jars;                     // spark.yarn.jars if the job names none: local:/opt/spark/jars/*
  std::string python;                         // PYTHONPATH of pyspark on the nodes, with commas
  std::string queue = "default";
  base::Duration poll = std::chrono::seconds(2);  // between two lists of applications
};

// A file in HDFS that YARN copies to the containers of the job.
struct YarnResource {
  std::string link;  // its path in the working directory of a container
  std::string url;
  bool archive = false;    // YARN unpacks it
  std::int64_t bytes = 0;  // these two must be as HDFS has them, or YARN starts no container
  std::int64_t modified_ms = 0;
  bool operator==(const YarnResource&) const = default;
};
// Without bytes and modified_ms, which the caller reads from HDFS.
std::vector<YarnResource> yarn_resources(const SparkJob& job);

// Empty if the native submission can run the job, else the reason.
std::string not_for_yarn(const SparkJob& job, const YarnOptions& options);

// The body of POST /ws/v1/cluster/apps. kInvalid: the job is too long for a command.
Result<std::string> yarn_submission(const SparkJob& job, std::string_view application_id,
                                    const std::vector<std::string>& tags, const YarnOptions& options,
                                    const std::vector<YarnResource>& resources = {});

// The properties file of the ApplicationMaster.
std::map<std::string, std::string> yarn_properties(const SparkJob& job, const YarnOptions& options);

}  // namespace tidemark::gateway
