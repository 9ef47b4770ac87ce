#include "cli/spark/comparison.h"

#include <utility>
#include <vector>

#include "base/text.h"

namespace tidemark::cli {
namespace {

using base::cat;

constexpr std::string_view kOwn = "spark.tidemark.";
constexpr std::string_view kOutputs = "spark.tidemark.outputs";

std::vector<std::string> words_of(const Json& job, std::string_view key) {
  std::vector<std::string> out;
  for (const auto word : base::split(job.text_at("conf", key), ',')) {
    if (!base::trim(word).empty()) out.emplace_back(base::trim(word));
  }
  return out;
}

Json array_of_words(const std::vector<std::string>& words) {
  Json out = Json::array();
  for (const auto& word : words) out.as_array().emplace_back(word);
  return out;
}

// /out is not a part of /out2, but of /out/day=1.
bool ends_path(std::string_view rest) {
  return rest.empty() || std::string_view("/,;:?&#'\" \t)").contains(rest[0]);
}

bool replace_path(std::string& text, std::string_view path, std::string_view with) {
  bool found = false;
  for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos;) {
    if (!ends_path(std::string_view(text).substr(at + path.size()))) {
      at += path.size();
      continue;
    }
    text.replace(at, path.size(), with);
    at += with.size();
    found = true;
  }
  return found;
}

std::string place_of(std::string_view path, std::string_view tag, std::string_view side) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return cat(path, "-compare-", tag, "-", side);
}

// The job without our own properties, except its business.
Json plain_copy(const Json& job) {
  Json out = job;
  Json conf = Json::object();
  if (const Json* before = job.at("conf"); before != nullptr && before->is_object()) {
    for (const auto& [key, value] : before->as_object()) {
      if (!key.starts_with(kOwn) || key == "spark.tidemark.business") conf[key] = value;
    }
  }
  out["conf"] = std::move(conf);
  return out;
}

Result<Json> copy_for(const Json& job, std::string_view name, std::string_view tag, std::string_view side) {
  Json out = plain_copy(job);
  for (std::string path : words_of(job, kOutputs)) {
    const std::string place = place_of(path, tag, side);
    while (path.ends_with('/')) path.pop_back();
    bool found = false;
    if (out.at("args") != nullptr && out.at("args")->is_array()) {
      for (Json& arg : out["args"].as_array()) {
        if (arg.is_string()) found = replace_path(arg.as_string(), path, place) || found;
      }
    }
    for (auto& [key, value] : out["conf"].as_object()) {
      if (value.is_string()) found = replace_path(value.as_string(), path, place) || found;
    }
    if (!found) {
      return fail(ErrorKind::kInvalid, kOutputs, ": ", base::in_quotes(path),
                  " is in no argument and no property of the job, so the job would write to its real output");
    }
  }
  out["conf"]["spark.tidemark.side"] = Json(side);
  out["name"] = Json(cat(name, " (", side, ", for a comparison)"));
  return out;
}

}  // namespace

Result<Comparison> plan_comparison(const Json& job, std::string_view tag) {
  Comparison out;
  for (const std::string_view name :
       {job.text_at("name"), job.text_at("conf", "spark.app.name"), job.text_at("className"), job.text_at("file")}) {
    if (out.name.empty()) out.name = name.substr(name.rfind('/') + 1);
  }
  const auto outputs = words_of(job, kOutputs);
  if (outputs.empty()) {
    return fail(ErrorKind::kInvalid, "the job declares no output; set ", kOutputs, " to the paths that it writes");
  }
  TM_TRY(out.kubernetes, copy_for(job, out.name, tag, "kubernetes"));
  TM_TRY(out.yarn, copy_for(job, out.name, tag, "yarn"));

  const std::string_view format = job.text_at("conf", "spark.tidemark.outputFormat");
  const std::string_view tolerance = job.text_at("conf", "spark.tidemark.floatTolerance");
  const auto number = base::parse_double(tolerance.empty() ? "0" : tolerance);
  if (!number || *number < 0 || *number >= 1) {
    return fail(ErrorKind::kInvalid, "spark.tidemark.floatTolerance: a number from 0 to 1 is expected, found ",
                base::in_quotes(tolerance));
  }
  Json places = Json::array();
  for (const auto& path : outputs) {
    places.as_array().push_back(Json::object({{"format", format.empty() ? "parquet" : format},
                                              {"kubernetes", place_of(path, tag, "kubernetes")},
                                              {"yarn", place_of(path, tag, "yarn")}}));
  }
  const Json spec = Json::object({{"tolerance", *number},
                                  {"volatile", array_of_words(words_of(job, "spark.tidemark.volatileColumns"))},
                                  {"accept", array_of_words(words_of(job, "spark.tidemark.acceptedCauses"))},
                                  {"outputs", std::move(places)}});
  out.compare = plain_copy(job);
  for (const std::string_view field : {"className", "pyFiles", "files", "archives"})
    out.compare.as_object().erase(field);
  for (const std::string_view key : {"spark.submit.pyFiles", "spark.files", "spark.archives", "spark.app.name"}) {
    out.compare["conf"].as_object().erase(key);
  }
  out.compare["args"] = Json::array({spec.dump()});
  out.compare["name"] = Json(cat(out.name, " (comparison)"));
  out.compare["conf"]["spark.tidemark.compares"] = Json(out.name);
  return out;
}

Result<std::string> comparison_lines(std::string_view report) {
  TM_TRY(const Json json, Json::parse(report));
  const Json* rows = json.at("rows");
  const Json* causes = json.at("causes");
  const Json* differences = json.at("differences");
  if (rows == nullptr || !rows->is_array() || rows->as_array().size() != 2 || causes == nullptr ||
      !causes->is_object() || differences == nullptr || !differences->is_array()) {
    return fail(ErrorKind::kInvalid, "the comparison printed a report of another form");
  }
  std::string out =
      cat(json.text_at("yarn"), ": ", rows->as_array()[0].dump(), " rows from Kubernetes, ", rows->as_array()[1].dump(),
          " from YARN, ", causes->as_object().empty() ? "equal" : "different", "\n");
  for (const auto& [cause, count] : causes->as_object()) out += cat("  ", cause, ": ", count.dump(), "\n");
  for (const Json& each : differences->as_array()) {
    const Json* values = each.at("values");
    out += cat("    ", each.text_at("cause"), " ", values == nullptr ? "" : values->dump(), "\n");
  }
  return out;
}

}  // namespace tidemark::cli
