#include "gateway/yarn_submission.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "gateway/properties.h"

namespace tidemark::gateway {
namespace {

using base::cat;

// Linux limits one argument to 128 KiB (MAX_ARG_STRLEN), and the launch script adds to it.
constexpr std::size_t kCommandMax = 120 * 1024;
constexpr std::int64_t kOverheadMinMib = 384;
constexpr std::string_view kMaster = "org.apache.spark.deploy.yarn.ApplicationMaster";
constexpr std::string_view kPythonRunner = "org.apache.spark.deploy.PythonRunner";
constexpr std::string_view kLocal = "local:";
constexpr std::string_view kHdfs = "hdfs://";
constexpr std::string_view kAppJar = "__app__.jar";        // as Spark calls the job's jar in a container
constexpr std::string_view kPythonFolder = "__pyfiles__";  // of single modules

// Packages that Spark opens on Java 17; an older Java ignores them.
constexpr std::array<std::string_view, 14> kOpened = {
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
};

// local:///a and local:/a are the path /a on each node.
std::string local_path(std::string_view url) {
  url.remove_prefix(kLocal.size());
  while (url.starts_with("//")) url.remove_prefix(1);
  return std::string(url);
}

// The launch script runs the command as `bash -c "…"`: this is one word of it, whatever it contains.
std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    switch (c) {
      case '$':
        out += "\\$";
        break;
      case '"':
        out += "\\\"";
        break;
      case '`':
        out += "\\`";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\'':
        out += "'\\\\''";
        break;
      default:
        out += c;
    }
  }
  return out + "'";
}

std::int64_t driver_mib(const SparkJob& job) {
  return memory_mib(job.conf_or("spark.driver.memory", "1g")).value_or(1024);
}

std::int64_t container_mib(const SparkJob& job) {
  const std::int64_t memory = driver_mib(job);
  if (const auto given = memory_mib(job.conf_or("spark.driver.memoryOverhead", ""))) return memory + *given;
  const double factor = base::parse_double(job.conf_or("spark.driver.memoryOverheadFactor", "0.1")).value_or(0.1);
  return memory + std::max(static_cast<std::int64_t>(factor * static_cast<double>(memory)), kOverheadMinMib);
}

// The paths of a property, without empty ones.
std::vector<std::string_view> paths_of(const SparkJob& job, std::string_view key) {
  auto out = base::split(job.conf_or(key, ""), ',');
  std::erase_if(out, [](std::string_view path) { return base::trim(path).empty(); });
  return out;
}

// The name that a file gets in a container: behind # if it is given.
std::string link_of(std::string_view url) {
  const auto hash = url.find('#');
  return std::string(hash != std::string_view::npos ? url.substr(hash + 1) : url.substr(url.rfind('/') + 1));
}

bool is_module(std::string_view path) {
  return path.ends_with(".py");
}

// Where Python looks for modules: pyspark itself, the folder of single modules, and archives of modules.
std::string python_path(const SparkJob& job, const YarnOptions& options) {
  std::vector<std::string> out;
  for (const auto path : base::split(options.python, ',')) {
    if (!path.empty()) out.push_back(path.starts_with(kLocal) ? local_path(path) : std::string(path));
  }
  bool modules = false;
  for (const auto path : paths_of(job, "spark.submit.pyFiles")) {
    if (path.starts_with(kLocal)) {
      const std::string local = local_path(path);
      out.push_back(is_module(path) ? local.substr(0, local.rfind('/')) : local);
    } else if (!is_module(path)) {
      out.push_back(cat("{{PWD}}/", link_of(path)));
    } else {
      modules = true;
    }
  }
  if (modules) out.push_back(cat("{{PWD}}/", kPythonFolder));
  return base::join(out, "<CPS>");
}

// What the ApplicationMaster hands on to executors, as Spark's client writes it.
std::map<std::string, std::string> cache_properties(const std::vector<YarnResource>& resources) {
  std::vector<std::string> files, sizes, times, visibilities, types;
  for (const auto& each : resources) {
    files.push_back(cat(each.url.substr(0, each.url.find('#')), "#", each.link));
    sizes.push_back(cat(each.bytes));
    times.push_back(cat(each.modified_ms));
    visibilities.emplace_back("PRIVATE");
    types.emplace_back(each.archive ? "ARCHIVE" : "FILE");
  }
  if (files.empty()) return {};
  return {{"spark.yarn.cache.filenames", base::join(files, ",")},
          {"spark.yarn.cache.sizes", base::join(sizes, ",")},
          {"spark.yarn.cache.timestamps", base::join(times, ",")},
          {"spark.yarn.cache.visibilities", base::join(visibilities, ",")},
          {"spark.yarn.cache.types", base::join(types, ",")}};
}

// The class and the file of the job, as arguments of the ApplicationMaster.
std::string main_words(const SparkJob& job) {
  if (!job.is_python()) return cat(" --class ", shell_word(job.class_name), " --jar ", shell_word(job.file));
  const std::string file = job.file.starts_with(kLocal) ? local_path(job.file) : link_of(job.file);
  return cat(" --class ", kPythonRunner, " --primary-py-file ", shell_word(file));
}

std::string command_of(const SparkJob& job, const YarnOptions& options, const std::vector<YarnResource>& resources) {
  const std::string properties = base::base64_encode(to_properties(yarn_properties(job, options)));
  const std::string cache = base::base64_encode(to_properties(cache_properties(resources)));
  std::string out = cat("mkdir -p tmp && echo ", properties, " | base64 -d > spark.properties && echo ", cache,
                        " | base64 -d > dist-cache.properties && exec {{JAVA_HOME}}/bin/java "
                        "-server -Xmx",
                        driver_mib(job), "m -Djava.io.tmpdir={{PWD}}/tmp -XX:+IgnoreUnrecognizedVMOptions");
  for (const auto package : kOpened) out += cat(" --add-opens=", package, "=ALL-UNNAMED");
  out += " -Djdk.reflect.useDirectMethodHandle=false";
  // One string with several options: the shell splits it, as with spark-submit.
  if (const auto more = job.conf_or("spark.driver.extraJavaOptions", ""); !more.empty()) {
    for (const auto option : base::split(more, ' ')) {
      if (!option.empty()) out += cat(" ", shell_word(option));
    }
  }
  out += cat(" -Dspark.yarn.app.container.log.dir=<LOG_DIR> ", kMaster, main_words(job));
  for (const auto& arg : job.args) out += cat(" --arg ", shell_word(arg));
  return cat(out,
             " --properties-file {{PWD}}/spark.properties --dist-cache-conf {{PWD}}/dist-cache.properties"
             " 1> <LOG_DIR>/stdout 2> <LOG_DIR>/stderr");
}

std::string hadoop_or(const YarnOptions& options, const std::string& key, std::string_view otherwise) {
  const auto at = options.hadoop.find(key);
  return std::string(at == options.hadoop.end() ? otherwise : std::string_view(at->second));
}

std::string staging_directory(const SparkJob& job, std::string_view application_id, const YarnOptions& options) {
  std::string root(job.conf_or("spark.yarn.stagingDir", ""));
  if (root.empty()) {
    root = hadoop_or(options, "fs.defaultFS", "file:///");
    while (root.ends_with('/') && !root.ends_with("://")) root.pop_back();
    root += cat("/user/", job.user);
  }
  return cat(root, "/.sparkStaging/", application_id);
}

}  // namespace

std::string not_for_yarn(const SparkJob& job, const YarnOptions& options) {
  const auto is_there = [](std::string_view path) { return path.starts_with(kLocal) || path.starts_with(kHdfs); };
  if (!is_there(job.file)) return "file must be on the nodes (local:///…) or in HDFS";
  if (job.is_python() && options.python.empty()) return "Python needs --spark-yarn-python";
  for (const std::string_view key : {"spark.jars", "spark.submit.pyFiles"}) {
    for (const auto path : paths_of(job, key)) {
      if (!is_there(path)) return cat(key, ": ", base::in_quotes(path), " is not supported on YARN");
    }
  }
  for (const std::string_view key : {"spark.files", "spark.archives"}) {
    for (const auto path : paths_of(job, key)) {
      if (!path.starts_with(kHdfs)) return cat(key, ": ", base::in_quotes(path), " is not supported on YARN");
    }
  }
  const auto jars = job.conf_or("spark.yarn.jars", options.spark_jars);
  if (!jars.starts_with(kLocal)) return "spark.yarn.jars must name the jars on the nodes (local:/opt/spark/jars/*)";
  for (const std::string_view key :
       {"spark.yarn.archive", "spark.yarn.keytab", "spark.kerberos.keytab", "spark.jars.packages"}) {
    if (job.conf.contains(std::string(key))) return cat(key, " is not supported");
  }
  return "";
}

std::vector<YarnResource> yarn_resources(const SparkJob& job) {
  std::vector<YarnResource> out;
  const auto add = [&out](std::string_view url, std::string link, bool archive) {
    if (!url.starts_with(kHdfs)) return;
    out.push_back({.link = std::move(link), .url = std::string(url), .archive = archive});
  };
  add(job.file, job.is_python() ? link_of(job.file) : std::string(kAppJar), false);
  for (const auto path : paths_of(job, "spark.jars")) add(path, link_of(path), false);
  for (const auto path : paths_of(job, "spark.files")) add(path, link_of(path), false);
  for (const auto path : paths_of(job, "spark.archives")) add(path, link_of(path), true);
  for (const auto path : paths_of(job, "spark.submit.pyFiles")) {
    add(path, is_module(path) ? cat(kPythonFolder, "/", link_of(path)) : link_of(path), false);
  }
  return out;
}

std::map<std::string, std::string> yarn_properties(const SparkJob& job, const YarnOptions& options) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : options.hadoop) out[cat("spark.hadoop.", key)] = value;
  for (const auto& [key, value] : job.conf) {
    if (!key.starts_with(kOwnPrefix) && !key.starts_with("spark.kubernetes.")) out[key] = value;
  }
  out["spark.master"] = "yarn";
  out["spark.submit.deployMode"] = "cluster";
  out["spark.yarn.maxAppAttempts"] = "1";  // the gateway owns the attempts
  if (job.is_python()) {
    out["spark.yarn.isPython"] = "true";
    out["spark.executorEnv.PYTHONPATH"] = python_path(job, options);
  } else {
    out["spark.yarn.user.jar"] = job.file;
  }
  out.try_emplace("spark.yarn.jars", options.spark_jars);
  // Jars that YARN copies go by their names there.
  std::vector<std::string> jars;
  for (const auto path : paths_of(job, "spark.jars")) {
    jars.push_back(path.starts_with(kLocal) ? std::string(path) : link_of(path));
  }
  if (!jars.empty()) out["spark.yarn.secondary.jars"] = base::join(jars, ",");
  for (const std::string_view key : {"spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles"}) {
    out.erase(std::string(key));
  }
  return out;
}

Result<hadoop::ApplicationSubmission> yarn_submission(const SparkJob& job, std::string_view application_id,
                                                      const std::vector<std::string>& tags, const YarnOptions& options,
                                                      const std::vector<YarnResource>& resources) {
  const std::string command = command_of(job, options, resources);
  if (command.size() > kCommandMax) {
    return fail(ErrorKind::kInvalid, "the job needs a command of ", command.size(), " bytes, and YARN takes ",
                kCommandMax, "; use fewer or shorter args and properties");
  }
  std::string classpath = "{{PWD}}";
  for (const auto jars : base::split(job.conf_or("spark.yarn.jars", options.spark_jars), ',')) {
    if (jars.starts_with(kLocal)) classpath += cat("<CPS>", local_path(jars));
  }
  hadoop::ApplicationSubmission out;
  out.id = application_id;
  out.name = job.name;
  out.type = "SPARK";
  out.queue = job.conf_or("spark.yarn.queue", options.queue);
  out.priority = base::parse_int(job.conf_or("spark.yarn.priority", "0")).value_or(0);
  out.tags = tags;
  out.memory_mib = container_mib(job);
  out.cores = base::parse_int(job.conf_or("spark.driver.cores", "1")).value_or(1);
  out.master.command = command;
  out.master.files = resources;
  auto& environment = out.master.environment;
  environment = {{"CLASSPATH", classpath},
                 {"SPARK_USER", job.user},
                 {"SPARK_YARN_STAGING_DIR", staging_directory(job, application_id, options)}};
  if (job.is_python()) environment.emplace_back("PYTHONPATH", python_path(job, options));
  constexpr std::string_view kMasterEnv = "spark.yarn.appMasterEnv.";
  for (const auto& [key, value] : job.conf) {
    if (key.starts_with(kMasterEnv)) environment.emplace_back(key.substr(kMasterEnv.size()), value);
  }
  return out;
}

}  // namespace tidemark::gateway
