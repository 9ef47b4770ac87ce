#include "embedded/settings_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/yaml.h"
#include "journal/whole_file.h"

namespace tidemark::embedded {
namespace {

constexpr std::size_t kSettingsBytesMax = std::size_t{1} << 20;
constexpr base::Duration kLook = std::chrono::seconds(2);
constexpr base::Duration kSettingsCallLimit = std::chrono::seconds(20);
constexpr std::string_view kSloConfig = "slo-controller-config";
constexpr std::array<std::string_view, 2> kNames = {kSloConfig, "tidemark-config"};

// One machine whose owner wants it used: sold up to nine tenths, told of each half minute, offline work last at every
// processor and, where the kernel cannot do that, held below the same line. It ends, and is queued again, where memory
// gets short, and where the online side leaves it less than a third of what it was sold for five minutes: held so small
// it only keeps its memory.
constexpr std::string_view kDefaultColocation =
    R"({"enable":true,"cpuReclaimThresholdPercent":90,"memoryReclaimThresholdPercent":85,)"
    R"("metricReportIntervalSeconds":30,"metricAggregateDurationSeconds":60,"updateTimeThresholdSeconds":30})";
constexpr std::string_view kDefaultThresholds =
    R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":90,"cpuSuppressPolicy":"idle",)"
    R"("memoryEvictThresholdPercent":90,"cpuEvictBESatisfactionLowerPercent":30,)"
    R"("cpuEvictBESatisfactionUpperPercent":50,"cpuEvictTimeWindowSeconds":300}})";
constexpr std::string_view kDefaultQos =
    R"({"clusterStrategy":{"lsClass":{"cpuQOS":{"enable":true,"groupIdentity":2}},)"
    R"("beClass":{"cpuQOS":{"enable":true,"groupIdentity":-1}}}})";

Json default_settings() {
  return Json::object({{"metadata", Json::object({{"name", kSloConfig}})},
                       {"data", Json::object({{"colocation-config", kDefaultColocation},
                                              {"resource-threshold-config", kDefaultThresholds},
                                              {"resource-qos-config", kDefaultQos}})}});
}

struct Read {
  std::string text;
  std::vector<Json> maps;
};
Result<Read> read_file(const std::string& path, std::string_view config_namespace) {
  auto text = journal::read_whole(path, kSettingsBytesMax);
  if (!text) return std::unexpected(std::move(text).error().within("--settings"));
  if (!*text) return fail(ErrorKind::kNotFound, "--settings ", path, ": file not found");
  auto maps = read_settings(**text, config_namespace);
  if (!maps) return std::unexpected(std::move(maps).error().within(base::cat("--settings ", path)));
  return Read{**std::move(text), *std::move(maps)};
}

}  // namespace

Result<std::vector<Json>> read_settings(std::string_view text, std::string_view config_namespace) {
  TM_TRY(const auto documents, base::parse_yaml_documents(text));
  std::vector<Json> out;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const Json& one = documents[i];
    const std::string place = base::cat("document ", i + 1);
    if (one.text_at("kind") != "ConfigMap") {
      return fail(ErrorKind::kInvalid, place, ": wanted a ConfigMap, found ", base::in_quotes(one.text_at("kind")));
    }
    const std::string_view name = one.text_at("metadata", "name");
    if (std::ranges::find(kNames, name) == kNames.end()) {
      return fail(ErrorKind::kInvalid, place, ": wanted one of ", kNames[0], " and ", kNames[1], ", found ",
                  base::in_quotes(name));
    }
    const std::string_view space = one.text_at("metadata", "namespace");
    if (!space.empty() && space != config_namespace) {
      return fail(ErrorKind::kInvalid, place, ": settings are in the namespace ", config_namespace, ", not in ",
                  base::in_quotes(space));
    }
    const bool twice =
        std::ranges::any_of(out, [&](const Json& before) { return before.text_at("metadata", "name") == name; });
    if (twice) return fail(ErrorKind::kInvalid, place, ": ", name, " is there twice");
    const Json* data = one.member("data");
    if (data == nullptr || !data->is_object()) return fail(ErrorKind::kInvalid, place, ": ", name, " has no data");
    out.push_back(Json::object({{"metadata", Json::object({{"name", name}})}, {"data", *data}}));
  }
  return out;
}

Result<void> check_settings(const std::string& path, std::string_view config_namespace) {
  if (path.empty()) return {};
  TM_TRY([[maybe_unused]] const auto read, read_file(path, config_namespace));
  return {};
}

SettingsFile::SettingsFile(net::EventLoop& loop, kube::Client& client, base::Log log, std::string path,
                           std::string config_namespace)
    : loop_(loop),
      client_(client),
      log_(std::move(log)),
      path_(std::move(path)),
      namespace_(std::move(config_namespace)) {}

// What is not in the file any more is not in force any more: the data is the file's, whole.
net::Task<Result<void>> SettingsFile::put(std::vector<Json> maps) {
  for (Json& map : maps) {
    const std::string name(map.text_at("metadata", "name"));
    kube::WriteOptions options;
    options.ns = namespace_;
    const auto made = co_await client_.create(kube::kConfigMaps, map.dump(), options, "", kSettingsCallLimit);
    if (made) continue;
    if (made.error().kind != ErrorKind::kAlreadyExists) co_return std::unexpected(made.error());
    const Json replaced = Json::array({Json::object({{"op", "add"}, {"path", "/data"}, {"value", map["data"]}})});
    const auto put = co_await client_.patch(kube::kConfigMaps, name, kube::PatchType::kJson, replaced.dump(),
                                            std::move(options), kSettingsCallLimit);
    if (!put) co_return std::unexpected(put.error());
  }
  co_return Result<void>();
}

// Once: from then on they are the owner's.
net::Task<Result<void>> SettingsFile::make_defaults() {
  kube::WriteOptions options;
  options.ns = namespace_;
  const auto made =
      co_await client_.create(kube::kConfigMaps, default_settings().dump(), std::move(options), "", kSettingsCallLimit);
  if (!made && made.error().kind != ErrorKind::kAlreadyExists) co_return std::unexpected(made.error());
  co_return Result<void>();
}

net::Task<Result<void>> SettingsFile::begin() {
  Read read;
  if (!path_.empty()) {
    TM_CO_TRY(read, read_file(path_, namespace_));
  }
  const bool says_what_is_sold =
      std::ranges::any_of(read.maps, [](const Json& map) { return map.text_at("metadata", "name") == kSloConfig; });
  if (!says_what_is_sold) {
    TM_CO_TRY_VOID(co_await make_defaults());
  }
  TM_CO_TRY_VOID(co_await put(std::move(read.maps)));
  seen_ = std::move(read.text);
  co_return Result<void>();
}

net::Task<void> SettingsFile::run() {
  std::string told;  // what was wrong, once
  while (!path_.empty()) {
    co_await loop_.sleep(kLook);
    auto read = read_file(path_, namespace_);
    const auto done = !read                 ? Result<void>(std::unexpected(read.error()))
                      : read->text == seen_ ? Result<void>()
                                            : co_await put(std::move(read->maps));
    if (!done) {
      if (told == done.error().message) continue;
      told = done.error().message;
      log_.warn("the settings' file is not in force: what was before stays", {{"error", told}});
      continue;
    }
    told.clear();
    if (read->text == seen_) continue;
    seen_ = std::move(read->text);
    log_.info("the settings' file is in force", {{"file", path_}});
  }
}

}  // namespace tidemark::embedded
