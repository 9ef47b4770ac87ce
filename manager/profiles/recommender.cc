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

constexpr std::string_view kCondition = "Recommended";
constexpr std::string_view kOldStatus = "Unknown";

Json conditions(std::string_view status, std::string_view reason, std::string_view message, base::WallTime now) {
  return Json::array({Json::object({{"type", Json(kCondition)},
                                    {"status", Json(status)},
                                    {"reason", Json(reason)},
                                    {"message", Json(message)},
                                    {"lastTransitionTime", Json(base::format_rfc3339(now))}})});
}

std::string with_id(Reason reason) {
  return base::cat(model::reason_sentence(reason), " [", model::reason_id(reason), "]");
}

bool says_old(const Json& status) {
  const Json* list = status.member("conditions");
  return list != nullptr && list->is_array() && std::ranges::any_of(list->as_array(), [](const Json& each) {
           return each.text_at("type") == kCondition && each.text_at("status") == kOldStatus;
         });
}

std::int64_t amount_at(const Json& resources, std::string_view key) {
  const auto quantity = model::Quantity::parse(resources.text_at(key));
  if (!quantity) return 0;
  return key == "cpu" ? cpu_milli(*quantity).value : memory_bytes(*quantity).value;
}

}  // namespace

std::string recommendation_name(const policy::waterline::Workload& workload) {
  return base::cat(base::lower(workload.kind), "-", workload.name);
}

Json recommendation_object(const policy::waterline::Workload& workload) {
  Json target = Json::object({{"kind", Json(workload.kind)}, {"name", Json(workload.name)}});
  if (const auto version = policy::waterline::workload_api_version(workload.kind); !version.empty()) {
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

Json recommendation_status(const policy::waterline::Recommendation& wanted, std::string_view resource_version,
                           base::WallTime now) {
  Json containers = Json::array();
  for (const auto& each : wanted.containers) {
    containers.as_array().push_back(
        Json::object({{"containerName", Json(each.name)},
                      {"resources", Json::object({{"cpu", Json(base::cat(each.request.cpu.value, "m"))},
                                                  {"memory", Json(base::cat(each.request.memory.value))}})}}));
  }
  return Json::object(
      {{"metadata", Json::object({{"resourceVersion", Json(resource_version)}})},
       {"status", Json::object({{"podStatus", Json::object({{"containerStatuses", std::move(containers)}})},
                                {"updateTime", Json(base::format_rfc3339(now))},
                                {"conditions",
                                 conditions("True", "FromProfile", with_id(Reason::kRecommendFromProfile), now)}})}});
}

Json recommendation_old(std::string_view resource_version, base::WallTime now) {
  return Json::object(
      {{"metadata", Json::object({{"resourceVersion", Json(resource_version)}})},
       {"status", Json::object({{"conditions", conditions(kOldStatus, "OldProfile",
                                                          base::cat("of what was known at updateTime; since then ",
                                                                    with_id(Reason::kRecommendTooEarly)),
                                                          now)}})}});
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
  read.old = status != nullptr && says_old(*status);
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

Recommender::Recommender(const Shared& shared, RecommenderContext context)
    : shared_(shared),
      context_(std::move(context)),
      log_(shared.log),
      old_(shared_.metrics.gauge("tidemark_recommendations_old",
                                 "Recommendations of workloads that run and of which nothing newer is known.")),
      foreign_count_(shared_.metrics.gauge("tidemark_recommendations_foreign",
                                           "Workloads whose Recommendation has another owner.")),
      errors_(shared_.metrics.counter("tidemark_recommendation_errors_total",
                                      "Reads and writes of Recommendations that failed; they are tried again.")),
      scope_(shared_.loop) {}

void Recommender::start() {
  scope_.spawn(run());
}

net::Task<void> Recommender::run() {
  bool published = true;  // an earlier leader may have published
  while (true) {
    const policy::waterline::ProfileSettings settings = context_.settings();
    const bool publish = settings.learn && settings.recommendations.publish;
    if (!context_.leading() || (!publish && !published)) {
      published = published || !context_.leading();
      co_await shared_.loop.sleep(kIdle);
      continue;
    }
    auto done = co_await round(publish);
    // If recommendations are disabled, the kind and the permission may be missing.
    if (!done && !publish && (done.error().kind == ErrorKind::kNotFound || done.error().kind == ErrorKind::kDenied)) {
      published = false;
      continue;
    }
    if (!done) {
      errors_.add();
      log_.warn("cannot update all recommendations; retrying", {{"error", done.error()}});
    }
    published = publish || !done || more_;  // switched off: what is there is taken away, in as many rounds as it takes
    co_await shared_.loop.sleep(publish ? settings.recommendations.every : kIdle);
  }
}

net::Task<Result<Recommender::Published>> Recommender::list_ours() {
  Published published;
  kube::ListOptions options;
  options.label_selector = base::cat(kManagedByLabel, "=", kManagedBy);
  auto done = co_await shared_.reader.list(
      kRecommendations, std::move(options),
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(const Json object, Json::parse(item));
          auto read = read_recommendation(object);
          if (!read) return {};
          // One that was renamed, or pointed elsewhere, by hand: it goes, and the right one is made.
          std::string key = policy::waterline::workload_text(read->target);
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

std::vector<Recommender::Write> Recommender::writes(const Published& published, Names& stays) const {
  const auto settings = context_.settings().recommendations;
  const base::WallTime now = shared_.loop.clock().wall();
  const auto containers = containers_by_workload();
  std::vector<Write> writes;
  Names recommended;
  const auto add = [&](std::string_view name, std::optional<policy::waterline::Recommendation> wanted,
                       const PublishedRecommendation* there) {
    writes.push_back({std::string(name), foreign_.contains(name), name <= last_written_, std::move(wanted), there});
  };
  context_.book.for_each([&](std::string_view name, const policy::waterline::UsageProfile& profile) {
    if (!policy::waterline::usage_of_all_hours(profile, now)) return;
    stays.emplace(name);
    const auto at = containers.find(name);
    if (at == containers.end()) return;  // without pods for now: what was said of it stays
    auto wanted = policy::waterline::recommend(profile, policy::waterline::parse_containers(at->second), settings, now);
    if (!wanted) return;
    recommended.emplace(name);
    const auto found = published.find(name);
    const auto* there = found == published.end() ? nullptr : &found->second;
    if (there == nullptr || there->old || policy::waterline::differs(there->told, *wanted, settings.change_percent)) {
      add(name, std::move(wanted), there);
    }
  });
  for (const auto& [name, there] : published) {
    if (!containers.contains(name)) continue;
    stays.insert(name);  // it runs: what was known of it is better than nothing
    if (!recommended.contains(name) && !there.old && knows_all()) add(name, std::nullopt, &there);
  }
  return writes;
}

net::Task<Result<void>> Recommender::round(bool publishes) {
  TM_CO_TRY(const Published published, co_await list_ours());
  old_.set(static_cast<double>(std::ranges::count_if(published, [](const auto& each) { return each.second.old; })));

  // Decided at once, carried out after: the profiles go on meanwhile.
  Names stays;
  std::vector<Write> writes;
  if (publishes) writes = this->writes(published, stays);
  std::ranges::sort(writes, {}, [](const Write& write) {
    return std::tuple(write.foreign, write.was_asked, std::string_view(write.name));
  });
  Names foreign;
  more_ = false;
  std::size_t left = context_.writes_max;
  std::size_t failures = 0;
  Result<void> result;
  for (const auto& [name, there] : published) {
    if (stays.contains(name) || (publishes && !knows_all())) continue;
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
    auto done = co_await this->write(policy::waterline::parse_workload(name), write.wanted, write.there);
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

net::Task<Result<void>> Recommender::write(policy::waterline::Workload workload,
                                           std::optional<policy::waterline::Recommendation> wanted,
                                           const PublishedRecommendation* there) {
  kube::WriteOptions options;
  options.ns = workload.ns;
  std::string revision = there == nullptr ? std::string() : there->resource_version;
  if (there == nullptr) {
    TM_CO_TRY(const std::string made,
              co_await shared_.writer.create(kRecommendations, recommendation_object(workload).dump(), options, "",
                                             context_.write_limit));
    TM_CO_TRY(const Json object, Json::parse(made));
    revision = object.text_at("metadata", "resourceVersion");
  }
  options.subresource = "status";
  const base::WallTime now = shared_.loop.clock().wall();
  const Json status = wanted ? recommendation_status(*wanted, revision, now) : recommendation_old(revision, now);
  TM_CO_TRY_VOID(co_await shared_.writer.patch(kRecommendations, recommendation_name(workload), kube::PatchType::kMerge,
                                               status.dump(), options, context_.write_limit));
  if (!wanted) {
    count(Reason::kRecommendTooEarly);
  } else {
    count(there == nullptr ? Reason::kRecommendFromProfile : Reason::kRecommendDiffers);
  }
  co_return Result<void>();
}

net::Task<Result<void>> Recommender::take_away(std::string ns, std::string name, std::string uid) {
  kube::WriteOptions options;
  options.ns = ns;
  auto done = co_await shared_.writer.remove(kRecommendations, name, uid, options, context_.write_limit);
  if (!done && done.error().kind != ErrorKind::kNotFound) {
    co_return std::unexpected(std::move(done).error().within(base::cat(ns, "/", name)));
  }
  count(Reason::kRecommendGone);
  co_return Result<void>();
}

void Recommender::count(Reason reason) {
  shared_.metrics
      .counter("tidemark_recommendation_writes_total", "Recommendations made, updated and taken away, by why.",
               {{"reason", model::reason_id(reason)}})
      .add();
}

}  // namespace tidemark::manager
