#include "kube/leader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "kube/objects.h"
#include "model/names.h"

namespace tidemark::kube {
namespace {

constexpr double kRetryJitter = 0.2;

struct LeaseSpec {
  std::string_view holder;
  std::string acquired;
  std::string renewed;
  std::int64_t transitions = 0;
  std::vector<std::pair<std::string_view, std::string>> annotations{};  // others stay
};

// `revision` empty: a body to create, otherwise a merge patch that holds only for that revision.
std::string lease_body(const LeaderConfig& config, std::string_view revision, const LeaseSpec& spec) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  json.member("apiVersion", "coordination.k8s.io/v1").member("kind", "Lease");
  json.key("metadata").begin_object();
  json.member("name", std::string_view(config.name)).member("namespace", std::string_view(config.ns));
  if (!revision.empty()) json.member("resourceVersion", revision);
  if (!spec.annotations.empty()) {
    json.key("annotations").begin_object();
    for (const auto& [key, value] : spec.annotations) json.member(key, std::string_view(value));
    json.end_object();
  }
  json.end_object();
  json.key("spec").begin_object();
  json.member("holderIdentity", spec.holder);
  json.member("leaseDurationSeconds",
              std::int64_t{std::chrono::duration_cast<std::chrono::seconds>(config.lease_duration).count()});
  json.member("acquireTime", std::string_view(spec.acquired)).member("renewTime", std::string_view(spec.renewed));
  json.member("leaseTransitions", spec.transitions);
  json.end_object();
  json.end_object();
  return out;
}

class Elector final : public LeaderElector {
 public:
  Elector(net::EventLoop& loop, Reader& reader, Writer& writer, base::Log log, base::Registry& metrics,
          base::Random random, LeaderConfig config)
      : loop_(loop),
        reader_(reader),
        writer_(writer),
        log_(std::move(log)),
        random_(random),
        config_(std::move(config)),
        leading_gauge_(metrics.gauge("tidemark_leader", "1 while this process holds the lease.")),
        changes_(metrics.counter("tidemark_leader_changes_total", "Times this process took or lost the lease.")) {
    // Our request must be over before others may take the lease, counted from the last renewal.
    request_limit_ =
        std::min<base::Duration>((config_.lease_duration - config_.renew_deadline) * 4 / 5, config_.renew_deadline / 2);
  }

  bool leading() const override { return renewed_at_ && loop_.clock().boot() - *renewed_at_ < config_.renew_deadline; }
  std::int64_t epoch() const override { return epoch_; }
  Unheard unheard() const override { return silence_.until(loop_.clock().monotonic()); }
  void raise_epoch(std::int64_t seen) override { epoch_least_ = std::max(epoch_least_, seen + 1); }
  void on_change(std::function<void(bool)> listener) override { listeners_.push_back(std::move(listener)); }
  void annotate(std::string_view key, std::function<std::string()> value) override {
    annotations_.emplace_back(key, std::move(value));
  }

  net::Task<void> run() override {
    answered_ = loop_.clock().monotonic();
    while (!released_) {
      const base::BootTime asked = loop_.clock().boot();
      auto held = co_await acquire_or_renew();
      if (released_) co_return;  // meanwhile: what was just renewed is not led any more
      note_answer(held || !is_silence(held.error()));
      if (!held) {
        log_.warn("cannot reach lease", {{"lease", config_.name}, {"error", held.error()}});
      } else if (*held) {
        renewed_at_ = asked;  // when we asked, not when the answer came: no other clock starts later
      } else {
        renewed_at_.reset();
      }
      announce();
      co_await wait_for_next_round();
    }
  }

  net::Task<void> release() override {
    released_ = true;  // or run() would take the lease again
    if (!leading()) co_return;
    renewed_at_.reset();
    announce();
    auto done = co_await release_lease();
    if (!done && done.error().kind == ErrorKind::kConflict && co_await still_ours()) done = co_await release_lease();
    if (!done) log_.warn("cannot release lease; it will expire", {{"error", done.error()}});
  }

 private:
  // A renewal that fails now and then is no silence: one that is missing for so long that the lease is lost is.
  void note_answer(bool answered) {
    const base::MonotonicTime now = loop_.clock().monotonic();
    if (answered) {
      answered_ = now;
      silence_.ends(now);
    } else if (now - answered_ >= config_.renew_deadline) {
      silence_.begins(answered_);
    }
  }

  // The revision is that of our last renewal: if another candidate took over, this write must fail.
  net::Task<Result<std::string>> release_lease() {
    std::string body = lease_body(config_, revision_, {"", now_text(), now_text(), epoch_});
    co_return co_await writer_.patch(kLeases, config_.name, PatchType::kMerge, std::move(body), write_options(),
                                     request_limit_);
  }

  // After a conflict: a renewal of ours that was under way may have been the other writer.
  net::Task<bool> still_ours() {
    auto bytes = co_await reader_.get(kLeases, config_.ns, config_.name, request_limit_);
    if (!bytes) co_return false;
    Interner interner;
    const auto lease = decode_lease(*bytes, {}, interner);
    if (!lease || lease->holder != config_.identity) co_return false;
    revision_ = lease->meta.resource_version;
    co_return true;
  }

  // True: we hold it. False: another candidate holds it. An error means that the holder is unknown.
  net::Task<Result<bool>> acquire_or_renew() {
    auto bytes = co_await reader_.get(kLeases, config_.ns, config_.name, request_limit_);
    if (!bytes) {
      if (bytes.error().kind != ErrorKind::kNotFound) co_return std::unexpected(std::move(bytes).error());
      co_return co_await create();
    }
    Interner interner;
    TM_CO_TRY(const Lease lease, decode_lease(*bytes, {}, interner));
    const bool ours = lease.holder == config_.identity;
    if (!ours) {
      // Others' clocks are not trusted: their lease is over when *we* saw no renewal for its length.
      if (lease.meta.resource_version != seen_revision_) {
        seen_revision_ = lease.meta.resource_version;
        seen_at_ = loop_.clock().boot();
      }
      const base::Duration length = lease.duration_s && *lease.duration_s > 0
                                        ? base::Duration(std::chrono::seconds(*lease.duration_s))
                                        : config_.lease_duration;
      if (!lease.holder.empty() && loop_.clock().boot() - seen_at_ < length) co_return false;
    }
    // A holder that could not renew in time is not one any more: what it may have missed makes it a new epoch.
    const bool continues = ours && leading();
    co_return co_await take(lease, continues);
  }

  net::Task<Result<bool>> create() {
    if (released_) co_return false;  // released meanwhile: it is not taken again
    const std::string now = now_text();
    std::string body =
        lease_body(config_, "", {config_.identity, now, now, std::max(epoch_ + 1, epoch_least_), annotations_now()});
    auto created = co_await writer_.create(kLeases, std::move(body), write_options(), "", request_limit_);
    if (!created) {
      if (created.error().kind == ErrorKind::kAlreadyExists) co_return false;  // another candidate was faster
      co_return std::unexpected(std::move(created).error());
    }
    co_return note_held(*created);
  }

  net::Task<Result<bool>> take(const Lease& lease, bool continues) {
    if (released_) co_return false;  // as above
    const std::string now = now_text();
    const std::int64_t transitions = std::max(std::int64_t{lease.transitions} + (continues ? 0 : 1), epoch_least_);
    const std::string acquired = continues && lease.acquired ? base::format_rfc3339_micro(*lease.acquired) : now;
    std::string body = lease_body(config_, lease.meta.resource_version,
                                  {config_.identity, acquired, now, transitions, annotations_now()});
    auto patched = co_await writer_.patch(kLeases, config_.name, PatchType::kMerge, std::move(body), write_options(),
                                          request_limit_);
    if (!patched) {
      // A foreign write (a label) does not depose the holder: its time lasts, and the next pass shows it.
      if (patched.error().kind == ErrorKind::kConflict && !continues) co_return false;
      co_return std::unexpected(std::move(patched).error());
    }
    co_return note_held(*patched);
  }

  Result<bool> note_held(std::string_view bytes) {
    Interner interner;
    TM_TRY(const Lease lease, decode_lease(bytes, {}, interner));
    if (lease.holder != config_.identity) return false;
    revision_ = lease.meta.resource_version;
    epoch_ = lease.transitions;
    return true;
  }

  // Sleeps a retry period, but wakes at the moment the lease is lost, so that listeners hear of it then.
  net::Task<void> wait_for_next_round() {
    base::Duration pause = random_.jitter(config_.retry_period, kRetryJitter);
    if (leading()) {
      const base::Duration left = config_.renew_deadline - (loop_.clock().boot() - *renewed_at_);
      pause = std::min(pause, left);
    }
    co_await loop_.sleep(pause);
    announce();
  }

  void announce() {
    const bool now = leading();
    if (now == announced_) return;
    announced_ = now;
    leading_gauge_.set(now ? 1 : 0);
    changes_.add();
    log_.info(now ? "leading" : "not leading any more",
              {{"lease", config_.name}, {"identity", config_.identity}, {"epoch", epoch_}});
    for (const auto& listener : listeners_) listener(now);
  }

  std::vector<std::pair<std::string_view, std::string>> annotations_now() const {
    std::vector<std::pair<std::string_view, std::string>> out;
    for (const auto& [key, value] : annotations_) out.emplace_back(key, value());
    if (!out.empty()) out.emplace_back(model::kAnnotatedByAnnotation, config_.identity);
    return out;
  }
  std::string now_text() const { return base::format_rfc3339_micro(loop_.clock().wall()); }
  WriteOptions write_options() const {
    WriteOptions options;
    options.ns = config_.ns;
    return options;
  }

  net::EventLoop& loop_;
  Reader& reader_;
  Writer& writer_;
  base::Log log_;
  base::Random random_;
  LeaderConfig config_;
  base::Duration request_limit_{0};
  std::optional<base::BootTime> renewed_at_;
  std::int64_t epoch_ = 0;
  std::int64_t epoch_least_ = 1;  // of the next lease that we write
  std::string revision_;          // of the lease as we last wrote it
  std::string seen_revision_;     // of another holder's lease
  base::BootTime seen_at_;
  base::MonotonicTime answered_;  // when the lease was last renewed or the server gave a reason
  Silence silence_;
  bool announced_ = false;
  bool released_ = false;
  std::vector<std::function<void(bool)>> listeners_;
  std::vector<std::pair<std::string_view, std::function<std::string()>>> annotations_;
  base::Gauge& leading_gauge_;
  base::Counter& changes_;
};

}  // namespace

Result<std::unique_ptr<LeaderElector>> LeaderElector::make(net::EventLoop& loop, Reader& reader, Writer& writer,
                                                           base::Log log, base::Registry& metrics, base::Random random,
                                                           LeaderConfig config) {
  if (config.name.empty() || config.identity.empty()) {
    return fail(ErrorKind::kInvalid, "leader election needs the name of a lease and an identity");
  }
  if (config.lease_duration < std::chrono::seconds(1) ||
      config.lease_duration % std::chrono::seconds(1) != base::Duration(0)) {
    return fail(ErrorKind::kInvalid, "lease duration ", base::format_go_duration(config.lease_duration),
                " is not a whole number of seconds; the Lease stores whole seconds");
  }
  if (config.renew_deadline >= config.lease_duration) {
    return fail(ErrorKind::kInvalid, "renew deadline ", base::format_go_duration(config.renew_deadline),
                " must be shorter than the lease duration ", base::format_go_duration(config.lease_duration));
  }
  if (config.retry_period <= base::Duration(0) || config.retry_period >= config.renew_deadline) {
    return fail(ErrorKind::kInvalid, "retry period ", base::format_go_duration(config.retry_period),
                " must be above zero and shorter than the renew deadline ",
                base::format_go_duration(config.renew_deadline));
  }
  return std::make_unique<Elector>(loop, reader, writer, std::move(log), metrics, random, std::move(config));
}

}  // namespace tidemark::kube
