#include "manager/profiles/recommender.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/decode.h"
#include "model/quantity.h"
#include "model/reason.h"

namespace tidemark::manager {
namespace {

using model::Reason;

constexpr base::Duration kIdle = std::chrono::seconds(10);  // between two looks whether anything is to be published
constexpr std::size_t kFailuresMax = 3;                     // in a row; then the rest waits for the next round

std::int64_t amount_at(const Json& resources, std::string_view key) {
  const auto quantity = model::Quantity::parse(resources.text_at(key));
  if (!quantity) return 0;
  return key == "cpu" ? cpu_milli(*quantity).value : memory_bytes(*quantity).value;
}

}  // namespace

std::string recommendation_name(const policy::Workload& workload) {
  return base::cat(base::lower(workload.kind), "-", workload.name);
}

Json recommendation_object(const policy::Workload& workload) {
  Json target = Json::object({{"kind", Json(workload.kind)}, {"name", Json(workload.name)}});
  if (const auto version = policy::workload_api_version(workload.kind); !version.empty()) {
    target["apiVersion"] = Json(version);
  }
  return Json::object(
      {{"apiVersion", Json(base::cat(kRecommendations.group, "/", kRecommendations.version))},
       {"kind", Json(kRecommendations.kind)},
       {"metadata", Json::object({{"name", Json(recommendation_name(workload))},
                                  {"namespace", Json(workload.ns)},
                                  {"labels", Json::object({{kManagedByLabel, Json(kManagedBy)}})}})},
       {"spec", Json::object({{"target", Json::object({{"type", "workload"}, {"workload", std::move(target)}})}})}});
}

Json recommendation_status(const policy::Recommendation& wanted, std::string_view resource_version,
                           base::WallTime now) {
  Json containers = Json::array();
  for (const auto& each : wanted.containers) {
    containers.as_array().push_back(
        Json::object({{"containerName", Json(each.name)},
                      {"resources", Json::object({{"cpu", Json(base::cat(each.request.cpu.value, "m"))},
                                                  {"memory", Json(base::cat(each.request.memory.value))}})}}));
  }
  const std::string time = base::format_rfc3339(now);
  Json condition = Json::object({{"type", "Recommended"},
                                 {"status", "True"},
                                 {"reason", "FromProfile"},
                                 {"message", Json(base::cat(model::reason_sentence(Reason::kRecommendFromProfile), " [",
                                                            model::reason_id(Reason::kRecommendFromProfile), "]"))},
                                 {"lastTransitionTime", Json(time)}});
  Json conditions = Json::array();
  conditions.as_array().push_back(std::move(condition));
  return Json::object(
      {{"metadata", Json::object({{"resourceVersion", Json(resource_version)}})},
       {"status", Json::object({{"podStatus", Json::object({{"containerStatuses", std::move(containers)}})},
                                {"updateTime", Json(time)},
                                {"conditions", std::move(conditions)}})}});
}

Result<PublishedRecommendation> read_recommendation(const Json& object) {
  PublishedRecommendation read;
  if (object.text_at("metadata", "labels", kManagedByLabel) != kManagedBy) {
    return fail(ErrorKind::kInvalid, "not ours");
  }
  read.uid = object.text_at("metadata", "uid");
  read.resource_version = object.text_at("metadata", "resourceVersion");
  read.target = {std::string(object.text_at("metadata", "namespace")),
                 std::string(object.text_at("spec", "target", "workload", "kind")),
                 std::string(object.text_at("spec", "target", "workload", "name"))};
  if (read.uid.empty() || read.resource_version.empty()) return fail(ErrorKind::kInvalid, "without an identity");
  const Json* status = object.member("status");
  const Json* pod = status == nullptr ? nullptr : status->member("podStatus");
  const Json* list = pod == nullptr ? nullptr : pod->member("containerStatuses");
  if (list == nullptr || !list->is_array()) return read;
  for (const Json& each : list->as_array()) {
    const Json* resources = each.member("resources");
    if (resources == nullptr) continue;
    read.told.containers.push_back({std::string(each.text_at("containerName")),
                                    {{amount_at(*resources, "cpu")}, {amount_at(*resources, "memory")}}});
  }
  return read;
}

Recommender::Recommender(RecommenderContext context, const base::Log& log)
    : context_(std::move(context)),
      log_(log),
      there_(context_.metrics.gauge("tidemark_recommendations", "Recommendation objects of ours.")),
      foreign_count_(context_.metrics.gauge("tidemark_recommendations_foreign",
                                            "Workloads whose Recommendation is somebody else's; it is left alone.")),
      errors_(context_.metrics.counter("tidemark_recommendation_errors_total",
                                       "Reads and writes of Recommendations that failed; they are tried again.")),
      scope_(context_.loop) {}

void Recommender::start() {
  scope_.spawn(run());
}

net::Task<void> Recommender::run() {
  bool published = true;  // by whoever led before, for all that is known
  while (true) {
    const policy::ProfileSettings settings = context_.settings();
    const bool publish = settings.learn && settings.recommendations.publish;
    if (!context_.leading() || (!publish && !published)) {
      published = published || !context_.leading();
      co_await context_.loop.sleep(kIdle);
      continue;
    }
    auto done = co_await round(publish);
    // Where nobody publishes there need be no such kind, and no right to it.
    if (!done && !publish && (done.error().kind == ErrorKind::kNotFound || done.error().kind == ErrorKind::kDenied)) {
      published = false;
      continue;
    }
    if (!done) {
      errors_.add();
      log_.warn("recommendations are not all as they should be; trying again", {{"error", done.error()}});
    }
    published = publish || !done || more_;  // switched off: what is there is taken away, in as many rounds as it takes
    co_await context_.loop.sleep(publish ? settings.recommendations.every : kIdle);
  }
}

net::Task<Result<Recommender::Published>> Recommender::list_ours() {
  Published published;
  kube::ListOptions options;
  options.label_selector = base::cat(kManagedByLabel, "=", kManagedBy);
  auto done = co_await context_.reader.list(
      kRecommendations, std::move(options),
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(const Json object, Json::parse(item));
          auto read = read_recommendation(object);
          if (!read) return {};
          // One that was renamed, or pointed elsewhere, by hand: it goes, and the right one is made.
          std::string key = policy::workload_text(read->target);
          if (object.text_at("metadata", "name") != recommendation_name(read->target)) {
            key = base::cat(read->target.ns, "//", object.text_at("metadata", "name"));
          }
          published.insert_or_assign(std::move(key), std::move(*read));
          return {};
        }));
        return {};
      },
      [&] { published.clear(); }, std::chrono::minutes(1));
  if (!done) co_return std::unexpected(std::move(done).error().within("listing recommendations"));
  co_return published;
}

// Of the newest pod of each: while a workload is rolled out it has several forms.
std::map<std::string, std::string, std::less<>> Recommender::containers_by_workload() const {
  std::map<std::string, std::pair<std::uint32_t, kube::Text>, std::less<>> newest;
  context_.pods.for_each([&](const kube::ObjectKey&, const PodProjection& pod) {
    if (pod.workload.empty()) return;
    auto at = newest.find(pod.workload.view());
    if (at == newest.end()) at = newest.emplace(pod.workload.view(), std::pair(0, kube::Text())).first;
    const auto candidate = std::pair(pod.started_s, pod.containers);
    if (at->second.second.empty() || at->second < candidate) at->second = candidate;
  });
  std::map<std::string, std::string, std::less<>> containers;
  for (const auto& [workload, pod] : newest) containers.emplace(workload, pod.second.view());
  return containers;
}

net::Task<Result<void>> Recommender::round(bool publishes) {
  TM_CO_TRY(const Published published, co_await list_ours());
  there_.set(static_cast<double>(published.size()));
  const auto settings = context_.settings().recommendations;
  const base::WallTime now = context_.loop.clock().wall();

  // Decided at once, carried out after: the profiles go on meanwhile.
  struct Write {
    std::string name;
    bool foreign = false;    // what others hold comes last, so that the rest does not starve behind it
    bool was_asked = false;  // what the last round did not come to, first
    policy::Recommendation wanted;
    const PublishedRecommendation* there = nullptr;
  };
  std::vector<Write> writes;
  std::set<std::string, std::less<>> known;
  if (publishes) {
    const auto containers = containers_by_workload();
    context_.book.for_each([&](std::string_view name, const policy::UsageProfile& profile) {
      if (!policy::usage_of_all_hours(profile, now)) return;
      known.emplace(name);
      const auto at = containers.find(name);
      if (at == containers.end()) return;  // without pods for now: what was said of it stays
      const auto wanted = policy::recommend(profile, policy::parse_containers(at->second), settings, now);
      if (!wanted) return;
      const auto there = published.find(name);
      const auto* told = there == published.end() ? nullptr : &there->second;
      if (told != nullptr && !policy::differs(told->told, *wanted, settings.change_percent)) return;
      writes.push_back({std::string(name), foreign_.contains(name), name <= last_written_, *wanted, told});
    });
  }
  std::ranges::sort(writes, {}, [](const Write& write) {
    return std::tuple(write.foreign, write.was_asked, std::string_view(write.name));
  });
  std::set<std::string, std::less<>> foreign;
  more_ = false;
  std::size_t left = context_.writes_max;
  std::size_t failures = 0;
  Result<void> result;
  for (const auto& [name, there] : published) {
    if (known.contains(name) || (publishes && !context_.all_read())) continue;
    more_ = left == 0;
    if (left == 0 || !context_.leading()) break;
    --left;
    const std::string object =
        name.find("//") == std::string::npos ? recommendation_name(there.target) : name.substr(name.find("//") + 2);
    auto done = co_await take_away(there.target.ns, object, there.uid);
    if (!done) {
      result = std::unexpected(std::move(done).error());
      if (++failures >= kFailuresMax) break;
    } else {
      failures = 0;
    }
  }
  for (const Write& write : writes) {
    const std::string& name = write.name;
    if (left == 0 || failures >= kFailuresMax || !context_.leading()) {
      if (foreign_.contains(name)) foreign.insert(name);  // not asked this time
      continue;
    }
    --left;
    last_written_ = name;
    auto done = co_await publish(policy::parse_workload(name), write.wanted, write.there);
    if (!done && done.error().kind == ErrorKind::kAlreadyExists) {
      if (!foreign_.contains(name)) {
        log_.warn(model::reason_sentence(Reason::kRecommendForeign),
                  {{"workload", name}, {"reason", model::reason_id(Reason::kRecommendForeign)}});
      }
      foreign.insert(name);
    } else if (!done && done.error().kind == ErrorKind::kNotFound) {
      continue;  // its namespace is on its way out
    } else if (!done) {
      result = std::unexpected(std::move(done).error().within(name));
      ++failures;
    } else {
      failures = 0;
    }
  }
  foreign_ = std::move(foreign);
  foreign_count_.set(static_cast<double>(foreign_.size()));
  co_return result;
}

net::Task<Result<void>> Recommender::publish(policy::Workload workload, policy::Recommendation wanted,
                                             const PublishedRecommendation* there) {
  kube::WriteOptions options;
  options.ns = workload.ns;
  std::string revision = there == nullptr ? std::string() : there->resource_version;
  if (there == nullptr) {
    TM_CO_TRY(const std::string made,
              co_await context_.writer.create(kRecommendations, recommendation_object(workload).dump(), options, "",
                                              context_.write_limit));
    TM_CO_TRY(const Json object, Json::parse(made));
    revision = object.text_at("metadata", "resourceVersion");
  }
  options.subresource = "status";
  const std::string name = recommendation_name(workload);
  TM_CO_TRY_VOID(co_await context_.writer.patch(
      kRecommendations, name, kube::PatchType::kMerge,
      recommendation_status(wanted, revision, context_.loop.clock().wall()).dump(), options, context_.write_limit));
  count(there == nullptr ? Reason::kRecommendFromProfile : Reason::kRecommendDiffers);
  co_return Result<void>();
}

net::Task<Result<void>> Recommender::take_away(std::string ns, std::string name, std::string uid) {
  kube::WriteOptions options;
  options.ns = ns;
  auto done = co_await context_.writer.remove(kRecommendations, name, uid, options, context_.write_limit);
  if (!done && done.error().kind != ErrorKind::kNotFound) {
    co_return std::unexpected(std::move(done).error().within(base::cat(ns, "/", name)));
  }
  count(Reason::kRecommendGone);
  co_return Result<void>();
}

void Recommender::count(Reason reason) {
  context_.metrics
      .counter("tidemark_recommendation_writes_total", "Recommendations made, updated and taken away, by why.",
               {{"reason", model::reason_id(reason)}})
      .add();
}

}  // namespace tidemark::manager
