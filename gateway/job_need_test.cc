#include "gateway/job_need.h"

#include <gtest/gtest.h>

#include "gateway/driver_objects.h"
#include "gateway/idle_capacity.h"
#include "gateway/testing/world.h"

namespace tidemark::gateway {
namespace {

using policy::route::RunNeed;
using testing::job;

// What the pod of the driver requests, as the watch of pods counts it.
model::Resources requested(const SparkJob& job) {
  KubernetesOptions options;
  const DriverNames names = driver_names("store", 1, 1, job, options);
  DriverObjects objects = driver_objects(job, names, options, 0);
  add_profile(objects, job, names, options);
  kube::Interner interner;
  return decode_batch_pod(objects.pod.dump(), interner)->batch;
}

TEST(JobNeed, DriverNeedsWhatItsPodRequests) {
  for (const std::map<std::string, std::string>& conf :
       {std::map<std::string, std::string>{},
        {{"spark.driver.memory", "8g"}, {"spark.driver.cores", "3"}},
        {{"spark.driver.memory", "8g"}, {"spark.driver.memoryOverhead", "2g"}},
        {{"spark.driver.memory", "8g"}, {"spark.driver.memoryOverheadFactor", "0.5"}},
        {{"spark.driver.memory", "8g"}, {"spark.kubernetes.memoryOverheadFactor", "0.3"}},
        {{"spark.kubernetes.driver.request.cores", "500m"}}}) {
    SparkJob one = job(conf);
    one.conf["spark.executor.instances"] = "0";
    EXPECT_EQ(need_of(one).batch, requested(one)) << to_json(one).dump();
    one.file = "local:///a.py";
    EXPECT_EQ(need_of(one).batch, requested(one)) << to_json(one).dump();
  }
}

TEST(JobNeed, ExecutorsAreThoseOfTheBegin) {
  const auto pods = [](std::map<std::string, std::string> conf) { return need_of(job(std::move(conf))).pods; };
  EXPECT_EQ(pods({}), 3) << "Spark's default";
  EXPECT_EQ(pods({{"spark.executor.instances", "7"}}), 8);
  EXPECT_EQ(pods({{"spark.dynamicAllocation.enabled", "true"}, {"spark.dynamicAllocation.maxExecutors", "50"}}), 1);
  EXPECT_EQ(pods({{"spark.dynamicAllocation.enabled", "true"}, {"spark.dynamicAllocation.minExecutors", "4"}}), 5);
  EXPECT_EQ(pods({{"spark.dynamicAllocation.enabled", "true"},
                  {"spark.dynamicAllocation.initialExecutors", "6"},
                  {"spark.dynamicAllocation.minExecutors", "4"}}),
            7);
}

TEST(JobNeed, MemoryOfAnExecutorHasItsParts) {
  const auto executor_mib = [](std::map<std::string, std::string> conf) {
    conf["spark.executor.instances"] = "1";
    const auto with = need_of(job(conf)).batch.memory;
    conf["spark.executor.instances"] = "0";
    return (with - need_of(job(conf)).batch.memory).value >> 20;
  };
  EXPECT_EQ(executor_mib({}), 1024 + 384);
  EXPECT_EQ(executor_mib({{"spark.executor.memory", "10g"}}), 10240 + 1024);
  EXPECT_EQ(executor_mib({{"spark.executor.memoryOverhead", "512m"}, {"spark.executor.pyspark.memory", "1g"}}),
            1024 + 512 + 1024);
  EXPECT_EQ(executor_mib({{"spark.memory.offHeap.enabled", "true"}, {"spark.memory.offHeap.size", "1073741824"}}),
            1024 + 384 + 1024)
      << "bytes";
  EXPECT_EQ(executor_mib({{"spark.memory.offHeap.enabled", "true"}, {"spark.memory.offHeap.size", "2g"}}),
            1024 + 384 + 2048);
}

TEST(JobNeed, WildNumberOfExecutorsSaturates) {
  const RunNeed need = need_of(job({{"spark.executor.instances", "1000000"},
                                    {"spark.executor.cores", "1000000"},
                                    {"spark.executor.memory", "1000000t"}}));
  EXPECT_GT(need.batch.memory.value, std::int64_t{1} << 62);
}

}  // namespace
}  // namespace tidemark::gateway
