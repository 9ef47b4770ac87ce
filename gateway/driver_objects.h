// The objects of a driver on Kubernetes: ConfigMap, Pod and Service. They equal those of stock spark-submit 3.5 field
// by field, names apart (tests/golden/spark_submit). add_profile() then makes the pod offline work.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gateway/job.h"

namespace tidemark::gateway {

struct KubernetesOptions {
  std::string ns = "default";           // if the job names none
  std::string image;                    // the same
  std::string master;                   // URL of the API server
  std::string spark_version = "3.5.9";  // of the image: a label
  std::string priority_class = "koord-batch";
  std::string uploads_folder;                 // a folder of each node that drivers and executors see; "": none
  std::map<std::string, std::string> hadoop;  // properties that a job with files in HDFS gets
};

// All derived from store, run and attempt: a repeated submission meets the same names.
struct DriverNames {
  std::string ns;
  std::string pod;
  std::string service;
  std::string config_map;
  std::string app_id;     // spark-<32 hexadecimal digits>
  std::string local_dir;  // a UUID
  std::string run;        // value of the label tidemark.io/run
  std::int64_t attempt = 1;
};
DriverNames driver_names(std::string_view store, std::int64_t run, std::int64_t attempt, const SparkJob& job,
                         const KubernetesOptions& options);
// The name of a job as a label has it.
std::string label_name(std::string_view name);
std::string namespace_of(const SparkJob& job, const KubernetesOptions& options);

// Why no way of submission to Kubernetes can run the job. Empty: one can.
std::string not_for_kubernetes(const SparkJob& job, const KubernetesOptions& options);
// The first property that only spark-submit translates. Empty: the native way can run the job.
std::string needs_spark_submit(const SparkJob& job);

struct DriverObjects {
  Json config_map;
  Json pod;
  Json service;
  std::vector<Json> more{};  // further ConfigMaps, which spark-submit makes for pod templates
};
DriverObjects driver_objects(const SparkJob& job, const DriverNames& names, const KubernetesOptions& options,
                             std::int64_t submit_time_ms);

// Batch resources, priority, labels, and the finalizer that keeps the pod until its end was read.
void add_profile(DriverObjects& objects, const SparkJob& job, const DriverNames& names,
                 const KubernetesOptions& options);
// The owner reference of ConfigMap and Service.
Json owned_by(std::string_view pod, std::string_view uid);

// On a Spark driver: the run of the gateway, and its attempt.
inline constexpr std::string_view kRunLabel = "tidemark.io/run";
inline constexpr std::string_view kAttemptLabel = "tidemark.io/attempt";
// The run of a value of kRunLabel; nullopt: of another store.
std::optional<std::int64_t> run_of_label(std::string_view label, std::string_view store);
inline constexpr std::string_view kDriverContainer = "spark-kubernetes-driver";
// On the empty ConfigMap in the place of a stopped driver's: the store of the run.
inline constexpr std::string_view kFenceLabel = "tidemark.io/fence";

}  // namespace tidemark::gateway
