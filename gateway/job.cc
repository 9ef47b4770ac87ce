#include "gateway/job.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"

namespace tidemark::gateway {
namespace {

constexpr std::int64_t kCoresMax = 1'000'000;  // of one executor, and executors
constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 40;
constexpr std::size_t kClassNameMax = 63;  // of a label of Kubernetes
constexpr std::string_view kDeployMode = "spark.submit.deployMode";
constexpr std::string_view kMaster = "spark.master";
constexpr std::string_view kCommitterVersion = "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version";

// A word such as --jars=a:b has none: spark-submit would take it for an option.
bool has_scheme(std::string_view path) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto plain = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'; };
  const auto at = path.find(':');
  return at != std::string_view::npos && at > 0 && letter(path[0]) && std::ranges::all_of(path.substr(0, at), plain);
}

Result<void> check_path(std::string_view option, std::string_view path) {
  if (!has_scheme(path)) {
    return fail(ErrorKind::kInvalid, option, ": ", base::in_quotes(path),
                " has no scheme; give a URL that every node can read, such as hdfs://… or local:///…");
  }
  if (base::lower(path).starts_with("file:")) {
    return fail(ErrorKind::kUnsupported, option, ": ", base::in_quotes(path),
                " is a local file, which is not uploaded; give hdfs://… or local:///…");
  }
  return {};
}

bool is_class_name(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && name.size() <= kClassNameMax && std::ranges::all_of(name, plain) && name.front() != '-' &&
         name.back() != '-';
}

Json array_of(const std::vector<std::string>& texts) {
  Json::Array out;
  for (const auto& text : texts) out.emplace_back(text);
  return Json(std::move(out));
}

Result<void> check_rerun(const SparkJob& job) {
  const auto safe = job.conf_or(kRerunSafeConf, "false");
  if (safe == kBeforeCommit) {
    const auto outputs = outputs_of(job);
    if (outputs.empty()) {
      return fail(ErrorKind::kInvalid, kRerunSafeConf, ": ", safe, " needs the paths that the job writes in ",
                  kOutputsConf);
    }
    for (const std::string& path : outputs) {
      if (path.starts_with("hdfs://") || path.starts_with(base::cat(kFileScheme, "/"))) continue;
      return fail(ErrorKind::kInvalid, kOutputsConf, ": ", base::in_quotes(path),
                  " is neither hdfs://... nor file:///...: the gateway cannot see what is committed");
    }
  } else if (safe == "true" && job.conf_or(kCommitterVersion, "1") == "2") {
    return fail(ErrorKind::kInvalid, kRerunSafeConf, ": with ", kCommitterVersion,
                "=2 each task puts its files into the output, and a second attempt adds to them; use version 1 or ",
                kBeforeCommit);
  } else if (safe != "true" && safe != "false") {
    return fail(ErrorKind::kInvalid, kRerunSafeConf, ": use true, false or ", kBeforeCommit, ", found ",
                base::in_quotes(safe));
  }
  return {};
}

}  // namespace

std::vector<std::string> outputs_of(const SparkJob& job) {
  std::vector<std::string> out;
  for (const auto path : base::split(job.conf_or(kOutputsConf, ""), ',')) {
    if (const auto trimmed = base::trim(path); !trimmed.empty()) out.emplace_back(trimmed);
  }
  return out;
}

bool SparkJob::is_python() const {
  return file.ends_with(".py");
}

std::string_view SparkJob::conf_or(std::string_view key, std::string_view otherwise) const {
  const auto at = conf.find(std::string(key));
  return at == conf.end() ? otherwise : std::string_view(at->second);
}

std::optional<std::int64_t> memory_mib(std::string_view text) {
  const std::string lower = base::lower(base::trim(text));
  std::string_view rest = lower;
  std::int64_t shift = 20;  // Spark reads a size without a unit as MiB here
  static constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"kb", 10}, {"mb", 20}, {"gb", 30}, {"tb", 40}, {"k", 10}, {"m", 20}, {"g", 30}, {"t", 40}, {"b", 0}};
  for (const auto& [unit, bits] : kUnits) {
    if (!rest.ends_with(unit)) continue;
    rest.remove_suffix(unit.size());
    shift = bits;
    break;
  }
  const auto number = base::parse_int(rest);
  if (!number || *number < 0) return std::nullopt;
  if (shift < 20) return *number >> (20 - shift);
  if (*number > (kMemoryMibMax >> (shift - 20))) return std::nullopt;
  return *number << (shift - 20);
}

std::optional<std::int64_t> cores_of(const SparkJob& job) {
  const auto number = [&](std::string_view key, std::string_view otherwise) {
    return std::clamp<std::int64_t>(base::parse_int(job.conf_or(key, otherwise)).value_or(1), 0, kCoresMax);
  };
  const bool grows = job.conf_or("spark.dynamicAllocation.enabled", "false") == "true";
  if (grows && job.conf_or("spark.dynamicAllocation.maxExecutors", "").empty()) return std::nullopt;
  const std::int64_t executors = number("spark.executor.instances", "2");  // Spark's default
  const std::int64_t most = grows ? std::max(executors, number("spark.dynamicAllocation.maxExecutors", "")) : executors;
  return number("spark.driver.cores", "1") + most * number("spark.executor.cores", "1");
}

Result<SparkJob> checked(SparkJob job) {
  if (job.file.empty()) return fail(ErrorKind::kInvalid, "file is required");
  if (job.file.ends_with(".R") || job.file.ends_with(".r")) {
    return fail(ErrorKind::kUnsupported, "file: R is not supported: ", base::in_quotes(job.file));
  }
  TM_TRY_VOID(check_path("file", job.file));
  for (const std::string_view key : {"spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles"}) {
    for (const auto path : base::split(job.conf_or(key, ""), ',')) {
      // Spark trims it too.
      if (!base::trim(path).empty()) TM_TRY_VOID(check_path(key, base::trim(path)));
    }
  }
  if (const auto mode = job.conf_or(kDeployMode, "cluster"); mode != "cluster") {
    return fail(ErrorKind::kUnsupported, kDeployMode, ": only cluster mode is supported, found ",
                base::in_quotes(mode));
  }
  if (job.conf.contains(std::string(kMaster))) {
    return fail(ErrorKind::kUnsupported, kMaster, " is not supported: the gateway chooses the side; to choose it, set ",
                kSideConf);
  }
  if (job.class_name.empty() && !job.is_python()) return fail(ErrorKind::kInvalid, "className is required for a jar");
  for (const std::string_view key : {"spark.driver.memory", "spark.executor.memory", "spark.driver.memoryOverhead"}) {
    if (const auto text = job.conf_or(key, "1g"); !memory_mib(text)) {
      return fail(ErrorKind::kInvalid, key, ": invalid size ", base::in_quotes(text), "; use for example 2g or 512m");
    }
  }
  if (const auto cores = base::parse_int(job.conf_or("spark.driver.cores", "1")); !cores || *cores < 1) {
    return fail(ErrorKind::kInvalid, "spark.driver.cores: invalid number ",
                base::in_quotes(job.conf_or("spark.driver.cores", "")));
  }
  if (const auto side = job.conf_or(kSideConf, ""); !side.empty() && side != "kubernetes" && side != "yarn") {
    return fail(ErrorKind::kInvalid, kSideConf, ": unknown side ", base::in_quotes(side), "; use kubernetes or yarn");
  }
  TM_TRY_VOID(check_rerun(job));
  if (const auto name = job.conf_or(kClassConf, kDefaultClass); !is_class_name(name)) {
    return fail(ErrorKind::kInvalid, kClassConf, ": lower-case letters, digits and - are expected, found ",
                base::in_quotes(name));
  }
  if (job.name.empty()) job.name = job.conf_or("spark.app.name", "");
  if (job.name.empty()) job.name = job.class_name;
  if (job.name.empty()) job.name = job.file.substr(job.file.rfind('/') + 1);
  job.conf["spark.app.name"] = job.name;
  return job;
}

Json to_json(const SparkJob& job) {
  Json conf = Json::object();
  for (const auto& [key, value] : job.conf) conf[key] = Json(value);
  return Json::object({{"file", job.file},
                       {"className", job.class_name},
                       {"name", job.name},
                       {"args", array_of(job.args)},
                       {"conf", std::move(conf)},
                       {"user", job.user}});
}

Result<SparkJob> job_of(const Json& json) {
  SparkJob job;
  job.file = json.text_at("file");
  job.class_name = json.text_at("className");
  job.name = json.text_at("name");
  job.user = json.text_at("user");
  const Json* args = json.at("args");
  const Json* conf = json.at("conf");
  if (args == nullptr || !args->is_array() || conf == nullptr || !conf->is_object()) {
    return fail(ErrorKind::kInvalid, "a stored job without args or conf");
  }
  for (const Json& arg : args->as_array()) job.args.emplace_back(arg.get_string().value_or(""));
  for (const auto& [key, value] : conf->as_object()) job.conf[key] = value.get_string().value_or("");
  return job;
}

}  // namespace tidemark::gateway
