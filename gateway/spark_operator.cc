#include "gateway/spark_operator.h"

#include <utility>

#include "base/text.h"
#include "gateway/api_calls.h"
#include "gateway/spark_submit.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using namespace policy::route;

constexpr std::size_t kObjectsBytesMax = std::size_t{32} * 1024 * 1024;
constexpr base::Duration kObjectAgeMax = std::chrono::minutes(3);  // beyond this age the watch may hide an end
// Beyond this age of an object without a state, the operator is away.
constexpr base::Duration kSubmissionMax = std::chrono::minutes(5);
constexpr std::int64_t kKeepAfterEndS = 24 * 3600;

kube::InformerConfig objects_config() {
  kube::InformerConfig config;
  config.resource = kSparkApplications;
  config.name = "spark-applications";
  config.label_selector = std::string(kRunLabel);
  config.bytes_max = kObjectsBytesMax;
  config.may_be_absent = true;
  return config;
}

}  // namespace

SparkOperator::SparkOperator(net::EventLoop& loop, kube::Client& client, base::Log log, base::Registry& metrics,
                             base::Random random, SideOwner owner)
    : loop_(loop),
      client_(client),
      log_(std::move(log)),
      owner_(std::move(owner)),
      objects_({loop, client, client, log_, metrics, random}, objects_config(), decode_application),
      scope_(loop) {
  objects_.subscribe([this](const kube::ObjectKey&, const SparkApplicationState* before,
                            const SparkApplicationState* after) { on_object(before, after); });
}

void SparkOperator::start() {
  scope_.spawn(objects_.run());
}

bool SparkOperator::synced() const {
  return objects_.synced();
}

net::Task<Result<bool>> SparkOperator::is_served(std::string ns) {
  kube::ListOptions options;
  options.ns = ns;
  options.page_size = 1;
  options.label_selector = cat(kRunLabel, "=none");
  const auto listed = co_await client_.list(
      kSparkApplications, options, [](std::string_view) -> Result<void> { return {}; }, [] {}, kCallLimit);
  if (listed) co_return true;
  if (listed.error().kind == ErrorKind::kNotFound) co_return false;
  co_return fail(listed.error());
}

net::Task<Result<std::optional<SparkApplicationState>>> SparkOperator::read(std::string ns, std::string name) {
  auto bytes = co_await client_.get(kSparkApplications, ns, name, kCallLimit);
  if (!bytes) {
    if (bytes.error().kind == ErrorKind::kNotFound) co_return std::optional<SparkApplicationState>();
    co_return fail(std::move(bytes).error());
  }
  TM_CO_TRY(SparkApplicationState object, decode_application(*bytes));
  co_return std::optional(std::move(object));
}

net::Task<Submission> SparkOperator::create(DriverNames names, Json object, std::string& uid) {
  const auto created = co_await client_.create(kSparkApplications, object.dump(), in(names.ns), "", kCallLimit);
  // A quota may refuse a second creation because of the first one. So the object decides, not the answer.
  const auto there = co_await read(names.ns, application_name(names));
  if (!there) co_return Submission{.message = there.error().message};
  if (!*there) {
    if (created || created.error().kind == ErrorKind::kAlreadyExists) {
      co_return Submission{.message = "the SparkApplication is deleted at once"};
    }
    co_return refused_or_unknown(created.error());
  }
  if ((*there)->run != names.run) {
    co_return Submission{
        Submission::Outcome::kRefused, EndClass::kUser,
        cat("SparkApplication ", names.ns, "/", application_name(names), " exists and belongs to another run")};
  }
  uid = (*there)->uid;
  co_return Submission{Submission::Outcome::kAccepted, {}, ""};
}

Observation SparkOperator::look(const DriverNames& names) const {
  const kube::InformerCore& watch = objects_.core();
  const bool fresh =
      objects_.synced() && !watch.unheard().lasts && loop_.clock().monotonic() - watch.last_contact() < kObjectAgeMax;
  if (!fresh) return {};
  const SparkApplicationState* object = objects_.find({names.ns, application_name(names)});
  if (object == nullptr) return {DriverState::kAbsent};
  if (object->run != names.run) return {};
  Observation seen = observe(OperatorApplication{object->state, object->message, object->deleted});
  if (!seen.message.empty()) seen.message = cat("Spark Operator: ", cause_in(seen.message));
  return seen;
}

net::Task<Result<void>> SparkOperator::remove(DriverNames names) {
  TM_CO_TRY(const auto there, co_await read(names.ns, application_name(names)));
  if (!there || there->deleted || there->run != names.run) co_return Result<void>();
  auto removed =
      co_await client_.remove(kSparkApplications, application_name(names), there->uid, in(names.ns), kCallLimit);
  if (!done_or_gone(removed)) co_return fail(std::move(removed).error());
  co_return Result<void>();
}

net::Task<Result<void>> SparkOperator::release(DriverNames names) {
  TM_CO_TRY(const auto there, co_await read(names.ns, application_name(names)));
  const bool submits = there && !there->deleted && there->state.empty();
  if (submits && loop_.clock().wall() - there->created < kSubmissionMax) {
    co_return fail(ErrorKind::kUnavailable, "Spark Operator still submits the run");
  }
  co_return co_await remove_finalizer(client_, kSparkApplications, names.ns, application_name(names),
                                      Json::object({{"timeToLiveSeconds", kKeepAfterEndS}}));
}

void SparkOperator::on_object(const SparkApplicationState* before, const SparkApplicationState* after) {
  const SparkApplicationState& object = after != nullptr ? *after : *before;
  const auto run = run_of_label(object.run, owner_.store);
  if (!run) return;
  if (after != nullptr && object.has_finalizer) {
    const std::string key = cat(object.meta.ns, "/", object.meta.name);
    if (straying_.insert(key).second) scope_.spawn(remove_if_stray(*run, object));
  }
  owner_.on_change(*run);
}

net::Task<void> SparkOperator::remove_if_stray(std::int64_t run, SparkApplicationState object) {
  const std::string key = cat(object.meta.ns, "/", object.meta.name);
  if (co_await owner_.is_live(run, object.attempt)) {
    straying_.erase(key);
    co_return;
  }
  // Its run may have ended since: then the object has lost its finalizer, and stays for its users.
  const auto now = co_await read(object.meta.ns, object.meta.name);
  if (now && *now && (*now)->uid == object.uid && (*now)->has_finalizer) {
    log_.warn("deleting a SparkApplication that appeared after the end of its attempt",
              {{"namespace", object.meta.ns}, {"object", object.meta.name}, {"run", object.run}});
    auto removed =
        co_await client_.remove(kSparkApplications, object.meta.name, object.uid, in(object.meta.ns), kCallLimit);
    if (done_or_gone(removed)) {
      removed = co_await remove_finalizer(client_, kSparkApplications, object.meta.ns, object.meta.name);
    }
    if (!done_or_gone(removed)) {
      log_.warn("cannot delete a SparkApplication; retrying at its next change",
                {{"object", object.meta.name}, {"error", removed.error()}});
    }
  }
  straying_.erase(key);
}

}  // namespace tidemark::gateway
