// The application of a Spark driver on YARN.
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
#include "hadoop/application_submission.h"

namespace tidemark::gateway {

struct YarnOptions {
  std::map<std::string, std::string> hadoop;  // the properties of core-site, hdfs-site and yarn-site
  std::string spark_jars;                     // spark.yarn.jars if the job names none: local:/opt/spark/jars/*
  std::string python;                         // PYTHONPATH of pyspark on the nodes, with commas
  std::string queue = "default";
  std::string renewer;  // of tokens that jobs get: the ResourceManager's principal; "": no Kerberos, so no tokens
  base::Duration poll = std::chrono::seconds(2);  // between two lists of applications
};

using YarnResource = hadoop::LocalResource;
// The files of the job in HDFS, without bytes and modified_ms, which the caller reads from HDFS.
std::vector<YarnResource> yarn_resources(const SparkJob& job);

// Empty if the native submission can run the job, else the reason.
std::string not_for_yarn(const SparkJob& job, const YarnOptions& options);

// kInvalid: the job is too long for a command.
Result<hadoop::ApplicationSubmission> yarn_submission(const SparkJob& job, std::string_view application_id,
                                                      const std::vector<std::string>& tags, const YarnOptions& options,
                                                      const std::vector<YarnResource>& resources = {});

// The properties file of the ApplicationMaster.
std::map<std::string, std::string> yarn_properties(const SparkJob& job, const YarnOptions& options);

}  // namespace tidemark::gateway
