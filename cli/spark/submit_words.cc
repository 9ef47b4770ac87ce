#include "cli/spark/submit_words.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"

namespace tidemark::cli {
namespace {

using base::cat;

// Options with a value, and the property that each sets; "" has a meaning of its own below.
constexpr std::array<std::pair<std::string_view, std::string_view>, 30> kOptions = {{
    {"--archives", "spark.archives"},
    {"--class", ""},
    {"--conf", ""},
    {"--deploy-mode", ""},
    {"--driver-class-path", "spark.driver.extraClassPath"},
    {"--driver-cores", "spark.driver.cores"},
    {"--driver-java-options", "spark.driver.extraJavaOptions"},
    {"--driver-library-path", "spark.driver.extraLibraryPath"},
    {"--driver-memory", "spark.driver.memory"},
    {"--exclude-packages", "spark.jars.excludes"},
    {"--executor-cores", "spark.executor.cores"},
    {"--executor-memory", "spark.executor.memory"},
    {"--files", "spark.files"},
    {"--jars", "spark.jars"},
    {"--keytab", "spark.kerberos.keytab"},
    {"--kill", "-"},
    {"--master", ""},
    {"--name", "spark.app.name"},
    {"--num-executors", "spark.executor.instances"},
    {"--packages", "spark.jars.packages"},
    {"--principal", "spark.kerberos.principal"},
    {"--properties-file", ""},
    {"--proxy-user", ""},
    {"--py-files", "spark.submit.pyFiles"},
    {"--queue", "spark.yarn.queue"},
    {"--remote", "-"},
    {"--repositories", "spark.jars.repositories"},
    {"--status", "-"},
    {"--total-executor-cores", "-"},
    {"-c", ""},
}};
constexpr std::array<std::string_view, 2> kSwitches = {"--verbose", "-v"};
constexpr std::string_view kNotHere = "-";  // refused by name

struct Read {
  std::string class_name;
  std::string proxy_user;
  std::map<std::string, std::string> dedicated;
  std::map<std::string, std::string> conf;
  std::map<std::string, std::string> file;
};

// "--name=value" → both; nullopt for any other word.
std::optional<std::pair<std::string, std::string>> split_option(const std::string& word) {
  const auto at = word.find('=');
  if (!word.starts_with("--") || at == std::string::npos || at < 3 || at + 1 == word.size()) return std::nullopt;
  return std::pair(word.substr(0, at), word.substr(at + 1));
}

// Blank lines and comments are skipped; the key ends at the first blank, "=" or ":".
std::map<std::string, std::string> read_properties(std::string_view text) {
  std::map<std::string, std::string> out;
  for (const auto raw : base::split(text, '\n')) {
    const auto line = base::trim(raw);
    if (line.empty() || line.starts_with('#') || line.starts_with('!')) continue;
    const auto end = std::min(line.find_first_of(" \t=:"), line.size());
    auto value = base::trim(line.substr(end));
    if (value.starts_with('=') || value.starts_with(':')) value = base::trim(value.substr(1));
    out[std::string(line.substr(0, end))] = value;
  }
  return out;
}

Result<void> take(const std::string& option, const std::string& value, Read& out,
                  const std::function<Result<std::string>(const std::string&)>& read_file) {
  if (option == "--class") {
    out.class_name = value;
  } else if (option == "--proxy-user") {
    out.proxy_user = value;
  } else if (option == "--conf" || option == "-c") {
    const auto at = value.find('=');
    if (at == std::string::npos) return fail(ErrorKind::kInvalid, "Error: Spark config without '=': ", value);
    out.conf[value.substr(0, at)] = value.substr(at + 1);
  } else if (option == "--deploy-mode") {
    if (value != "cluster") {
      return fail(ErrorKind::kUnsupported, "Error: --deploy-mode ", value, " is not supported: only cluster");
    }
  } else if (option == "--master") {
    if (value != "yarn" && !value.starts_with("k8s://")) {
      return fail(ErrorKind::kUnsupported, "Error: --master ", value, " is not supported: yarn or k8s://…");
    }
  } else if (option == "--properties-file") {
    auto text = read_file(value);
    if (!text) return fail(std::move(text).error().within("Error: --properties-file"));
    out.file = read_properties(*text);
  }
  return {};
}

bool is_local(std::string_view path) {
  const auto colon = path.find(':');
  return path.starts_with("file:") || colon == std::string_view::npos || path.find('/') < colon;
}

std::string path_of(std::string_view url) {
  if (url.starts_with("file:")) url.remove_prefix(std::string_view("file:").size());
  while (url.starts_with("//")) url.remove_prefix(1);
  return std::string(url);
}

}  // namespace

Result<void> replace_local_files(Json& body,
                                 const std::function<Result<std::string>(const std::string& path)>& upload) {
  const auto replaced = [&upload](std::string_view path) -> Result<std::string> {
    if (!is_local(path)) return std::string(path);
    const auto hash = std::min(path.find('#'), path.size());
    TM_TRY(const std::string url, upload(path_of(path.substr(0, hash))));
    return cat(url, path.substr(hash));
  };
  TM_TRY(body["file"], replaced(body.text_at("file")));
  for (const std::string_view key :
       {"spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles",
        "spark.kubernetes.driver.podTemplateFile", "spark.kubernetes.executor.podTemplateFile"}) {
    const std::string paths(body.text_at("conf", key));
    if (paths.empty()) continue;
    std::vector<std::string> urls;
    for (const auto path : base::split(paths, ',')) {
      if (base::trim(path).empty()) continue;
      TM_TRY(urls.emplace_back(), replaced(base::trim(path)));
    }
    body["conf"][key] = Json(base::join(urls, ","));
  }
  return {};
}

Result<SubmitWords> parse_submit_words(std::span<const std::string> words,
                                       const std::function<Result<std::string>(const std::string&)>& read_file) {
  SubmitWords out;
  Read read;
  std::size_t at = 0;
  for (; at < words.size() && words[at].starts_with('-'); ++at) {
    const auto split = split_option(words[at]);
    const std::string option = split ? split->first : words[at];
    if (option == "--help" || option == "-h") {
      out.help = true;
      return out;
    }
    if (option == "--version") {
      out.version = true;
      return out;
    }
    if (!split && std::ranges::find(kSwitches, option) != kSwitches.end()) continue;
    if (option == "--supervise") return fail(ErrorKind::kUnsupported, "Error: --supervise is not supported");
    const auto known = std::ranges::find(kOptions, option, [](const auto& each) { return each.first; });
    if (known == kOptions.end()) return fail(ErrorKind::kInvalid, "Error: Unrecognized option: ", words[at]);
    if (known->second == kNotHere) return fail(ErrorKind::kUnsupported, "Error: ", option, " is not supported");
    if (!split && at + 1 == words.size()) {
      return fail(ErrorKind::kInvalid, "Error: Missing argument for option '", option, "'.");
    }
    const std::string value = split ? split->second : words[++at];
    if (!known->second.empty()) {
      read.dedicated[std::string(known->second)] = value;
    } else {
      TM_TRY_VOID(take(option, value, read, read_file));
    }
  }
  if (at == words.size()) {
    return fail(ErrorKind::kInvalid, "Error: Must specify a primary resource (JAR or Python file)");
  }
  Json conf = Json::object();
  for (const auto* source : {&read.file, &read.conf, &read.dedicated}) {
    for (const auto& [key, value] : *source) {
      if (key != "spark.master" && key != "spark.submit.deployMode") conf[key] = Json(value);
    }
  }
  Json args = Json::array();
  for (std::size_t next = at + 1; next < words.size(); ++next) args.as_array().emplace_back(words[next]);
  out.body = Json::object({{"file", words[at]}, {"args", std::move(args)}, {"conf", std::move(conf)}});
  if (!read.class_name.empty()) out.body["className"] = Json(read.class_name);
  if (!read.proxy_user.empty()) out.body["proxyUser"] = Json(read.proxy_user);
  return out;
}

}  // namespace tidemark::cli
