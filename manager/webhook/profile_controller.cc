#include "manager/webhook/profile_controller.h"

#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "policy/admission/pod_json.h"

namespace tidemark::manager {
namespace {

using base::cat;

constexpr base::Duration kReadLimit = std::chrono::seconds(5);
constexpr base::Duration kProfileWriteLimit = std::chrono::seconds(5);
constexpr base::Duration kTellDenied = std::chrono::minutes(10);  // not more often: it is the same for every pod
constexpr base::Duration kRateWaitMax = std::chrono::seconds(30);
constexpr std::size_t kPendingBytesMax = 64 * 1024 * 1024;

kube::InformerConfig pending_pods() {
  kube::InformerConfig config;
  config.resource = kube::kPods;
  config.name = "pods-pending";
  config.field_selector = "spec.nodeName=,status.phase=Pending";
  config.bytes_max = kPendingBytesMax;
  return config;
}

std::string key_of(const kube::ObjectKey& key) {
  return cat(key.ns, "/", key.name);
}

kube::ObjectKey key_from(const std::string& text) {
  const auto slash = text.find('/');
  return {text.substr(0, slash), text.substr(slash + 1)};
}

}  // namespace

bool exempt_namespace(std::string_view name, const kube::TextMap& labels) {
  return name == "kube-system" || labels.has("control-plane");
}

ProfileController::ProfileController(const Shared& shared, ProfileContext context, base::Random random,
                                     ProfileControllerOptions options)
    : loop_(shared.loop),
      reader_(shared.reader),
      writer_(shared.writer),
      recorder_(shared.recorder),
      context_(std::move(context)),
      log_(shared.log),
      options_(options),
      pods_({shared.loop, shared.reader, shared.watcher, log_, shared.metrics, random.fork()}, pending_pods(),
            [&interner = shared.interner](std::string_view bytes) { return decode_pending_pod(bytes, interner); }),
      queue_(shared.loop, shared.metrics, "profiles", random.fork()),
      updates_(options.updates_per_second, options.update_burst),
      caught_up_(shared.metrics.counter("tidemark_profile_pods_caught_up_total",
                                        "Pods that missed the webhook and got their profile afterwards.")),
      failed_(shared.metrics.counter("tidemark_profile_failures_total", "Pods that could not be caught up with.")),
      scope_(shared.loop) {
  pods_.subscribe([this](const kube::ObjectKey& key, const PendingPod* before, const PendingPod* after) {
    if (after != nullptr) {
      queue_.add(key_of(key));
    } else if (before != nullptr) {
      looked_at_.erase(std::string(before->uid));
    }
  });
  context_.profiles.subscribe(
      [this](const kube::ObjectKey&, const ProfileObject*, const ProfileObject*) { look_all(); });
}

void ProfileController::start() {
  scope_.spawn(pods_.run());
  scope_.spawn(look_now_and_then());
  scope_.spawn(work());
}

void ProfileController::look_all() {
  if (!context_.profiles.synced() || !context_.namespaces.synced()) return;
  pods_.for_each([this](const kube::ObjectKey& key, const PendingPod&) { queue_.add(key_of(key)); });
}

net::Task<void> ProfileController::look_now_and_then() {
  while (true) {
    co_await loop_.sleep(options_.interval);
    look_all();
  }
}

std::vector<const policy::admission::ColocationProfile*> ProfileController::matching(const PendingPod& pod) const {
  std::vector<const policy::admission::ColocationProfile*> found;
  const auto* ns = context_.namespaces.find({"", std::string(pod.meta.ns)});
  if (ns == nullptr || exempt_namespace(pod.meta.ns, ns->labels)) return found;
  const auto namespace_labels = labels_of(ns->labels);
  const auto labels = labels_of(pod.labels);
  const auto mark = policy::admission::read_mark(pod.mark);
  context_.profiles.for_each([&](const kube::ObjectKey&, const ProfileObject& object) {
    const policy::admission::ColocationProfile& profile = object.profile;
    if (!options_.by_default && !profile.controller_managed) return;
    if (mark.knows(profile.name)) return;
    if (policy::admission::catches_up(profile, labels, std::span<const model::Label>(namespace_labels), pod.created,
                                      pod.uid, options_.parity)) {
      found.push_back(&profile);
    }
  });
  return found;
}

std::uint64_t ProfileController::fingerprint(const PendingPod& pod) const {
  const auto profiles = matching(pod);
  if (profiles.empty()) return 0;
  std::string text;
  for (const auto* profile : profiles) {
    const auto* object = context_.profiles.find({"", profile->name});
    text += cat(profile->name, "@", object == nullptr ? "" : object->meta.resource_version, ";");
  }
  return base::TextHash().add(text).value() | 1;
}

net::Task<void> ProfileController::work() {
  while (!context_.profiles.synced() || !context_.namespaces.synced() || !pods_.synced()) {
    co_await pods_.wait_synced(std::chrono::seconds(1));
    co_await loop_.sleep(std::chrono::milliseconds(100));
  }
  look_all();
  while (true) {
    const std::string key = co_await queue_.next();
    auto done = co_await catch_up(key);
    queue_.done(key);
    if (done) {
      queue_.forget(key);
      continue;
    }
    failed_.add();
    if (done.error().kind == ErrorKind::kDenied) {
      // A right that is missing, or another webhook: the next look at all pods is soon enough.
      queue_.forget(key);
      tell_denied(key, done.error());
      continue;
    }
    log_.warn("cannot apply profile to a pod that missed the webhook; retrying",
              {{"pod", key}, {"error", done.error()}});
    queue_.retry(key);
  }
}

void ProfileController::tell_denied(const std::string& key, const Error& error) {
  const auto now = loop_.clock().monotonic();
  if (denied_told_ && now - *denied_told_ < kTellDenied) return;
  denied_told_ = now;
  log_.error("cannot apply profiles to pods that missed the webhook: the API server refuses it",
             {{"pod", key}, {"error", error}, {"needed", "get and patch on pods, in all namespaces"}});
}

net::Task<Result<void>> ProfileController::catch_up(std::string key) {
  if (!context_.leading()) co_return Result<void>();
  const auto* cached = pods_.find(key_from(key));
  if (cached == nullptr) co_return Result<void>();
  const std::uint64_t print = fingerprint(*cached);
  const std::string uid(cached->uid);
  if (print == 0) co_return Result<void>();
  if (auto at = looked_at_.find(uid); at != looked_at_.end() && at->second == print) co_return Result<void>();

  const auto wait = updates_.reserve(loop_.clock().monotonic(), kRateWaitMax);
  if (!wait) co_return fail(ErrorKind::kExhausted, "more pods to catch up with than the rate allows");
  if (*wait > base::Duration(0)) co_await loop_.sleep(*wait);

  TM_CO_TRY(auto place,
            co_await writer_.take_place(kRateWaitMax));  // before it is read: the write then goes out at once
  const kube::ObjectKey name = key_from(key);
  auto bytes = co_await reader_.get(kube::kPods, name.ns, name.name, kReadLimit);
  if (!bytes) {
    if (bytes.error().kind == ErrorKind::kNotFound) co_return Result<void>();
    co_return std::unexpected(std::move(bytes).error());
  }
  TM_CO_TRY(const Json pod, Json::parse(*bytes));
  TM_CO_TRY_VOID(policy::admission::check_pod(pod));
  // After the wait everything is asked again; the pod may be another one by now.
  cached = pods_.find(name);
  if (!context_.leading() || cached == nullptr || pod.text_at("metadata", "uid") != cached->uid.view())
    co_return Result<void>();
  const auto profiles = matching(*cached);
  const auto* ns = context_.namespaces.find({"", name.ns});
  if (profiles.empty() || ns == nullptr) co_return Result<void>();
  const auto labels = labels_of(ns->labels);
  policy::admission::CatchUp done =
      policy::admission::catch_up({pod, std::span<const model::Label>(labels), profiles, options_.parity,
                                   merge_into_pod, context_.scope_of(pod).off, options_.while_off});
  const std::uint64_t now = fingerprint(*cached);
  if (!done.patch.is_null()) {
    done.patch["metadata"]["uid"] = Json(uid);
    done.patch["metadata"]["resourceVersion"] = Json(pod.text_at("metadata", "resourceVersion"));
    kube::WriteOptions write;
    write.ns = name.ns;
    write.place = std::move(place);
    auto patched = co_await writer_.patch(kube::kPods, name.name, kube::PatchType::kMerge, done.patch.dump(), write,
                                          kProfileWriteLimit);
    if (!patched) {
      if (patched.error().kind == ErrorKind::kNotFound) co_return Result<void>();
      co_return std::unexpected(std::move(patched).error());
    }
    caught_up_.add();
    const std::string what = base::join(done.applied, ", ");
    log_.info("applied profile to a pod that missed the webhook",
              {{"pod", key}, {"profiles", what}, {"left", base::join(done.left, ", ")}});
    recorder_.record({"v1", "Pod", name.ns, name.name, uid}, kube::EventSeverity::kNormal, "ColocationProfileCaughtUp",
                     cat("the webhook was away when this pod was created; labels and annotations of ",
                         done.applied.size() == 1 ? "profile " : "profiles ", what, " were set now",
                         done.left.empty() ? "" : "; immutable after creation, so unchanged: ",
                         base::join(done.left, ", "), ". Resources are never translated afterwards"));
  }
  looked_at_[uid] = now;
  co_return Result<void>();
}

}  // namespace tidemark::manager
