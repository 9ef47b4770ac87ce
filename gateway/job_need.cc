#include "gateway/job_need.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "model/quantity.h"

namespace tidemark::gateway {
namespace {

using base::cat;

constexpr std::int64_t kExecutorsMax = 1'000'000;
constexpr std::int64_t kSparkOverheadMinMib = 384;
constexpr std::int64_t kBytesOfMib = 1024 * 1024;
constexpr std::int64_t kDefaultMemoryMib = 1024;

// Without a unit these are bytes.
std::int64_t off_heap_mib(const SparkJob& job) {
  if (job.conf_or("spark.memory.offHeap.enabled", "false") != "true") return 0;
  const auto size = job.conf_or("spark.memory.offHeap.size", "0");
  if (const auto bytes = base::parse_int(size)) return *bytes / kBytesOfMib;
  return memory_mib(size).value_or(0);
}

std::int64_t executors_in(const SparkJob& job, std::string_view key, std::int64_t otherwise) {
  return std::clamp<std::int64_t>(base::parse_int(job.conf_or(key, "")).value_or(otherwise), 0, kExecutorsMax);
}

// Of one pod; `role` is driver or executor.
model::Resources pod_need(const SparkJob& job, std::string_view role) {
  const std::string spark = cat("spark.", role, ".");
  const auto cores = job.conf_or(cat("spark.kubernetes.", role, ".request.cores"), job.conf_or(spark + "cores", "1"));
  const auto cpu = model::Quantity::parse(cores);
  const std::int64_t memory = memory_mib(job.conf_or(spark + "memory", "")).value_or(kDefaultMemoryMib);
  const auto factor = job.conf_or(spark + "memoryOverheadFactor", job.conf_or("spark.kubernetes.memoryOverheadFactor",
                                                                              job.is_python() ? "0.4" : "0.1"));
  const auto overhead = memory_mib(job.conf_or(spark + "memoryOverhead", ""))
                            .value_or(std::max(static_cast<std::int64_t>(base::parse_double(factor).value_or(0) *
                                                                         static_cast<double>(memory)),
                                               kSparkOverheadMinMib));
  std::int64_t mib = memory + overhead;
  if (role == "executor") {
    mib += memory_mib(job.conf_or("spark.executor.pyspark.memory", "")).value_or(0) + off_heap_mib(job);
  }
  return {{cpu ? cpu->scaled_value_saturated(-3) : 1000}, {mib * kBytesOfMib}};
}

std::int64_t executors_of(const SparkJob& job) {
  const bool grows = job.conf_or("spark.dynamicAllocation.enabled", "false") == "true";
  if (!grows) return executors_in(job, "spark.executor.instances", 2);  // Spark's default
  return std::max({executors_in(job, "spark.dynamicAllocation.initialExecutors", 0),
                   executors_in(job, "spark.dynamicAllocation.minExecutors", 0),
                   executors_in(job, "spark.executor.instances", 0)});
}

}  // namespace

policy::route::RunNeed need_of(const SparkJob& job) {
  const std::int64_t executors = executors_of(job);
  const model::Resources executor = pod_need(job, "executor");
  policy::route::RunNeed out{.batch = pod_need(job, "driver"), .pods = 1 + executors};
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  // A wild product saturates: such a job fits nowhere.
  if (__builtin_mul_overflow(executor.cpu.value, executors, &cpu)) cpu = model::CpuMilli::max_value().value;
  if (__builtin_mul_overflow(executor.memory.value, executors, &memory)) memory = model::MemoryBytes::max_value().value;
  out.batch += model::Resources{{cpu}, {memory}};
  return out;
}

}  // namespace tidemark::gateway
