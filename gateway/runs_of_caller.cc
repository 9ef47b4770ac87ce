#include "gateway/runs_of_caller.h"

#include "base/text.h"

namespace tidemark::gateway {
namespace {

using base::cat;

constexpr std::string_view kUnknownUser = "root";  // of a job, without authentication
constexpr std::string_view kBusinessLabelConf = ".label.tidemark.io/business";
constexpr int kNoRight = 403;

template <class... Parts>
std::unexpected<Error> forbidden(const Parts&... parts) {
  return std::unexpected(Error{ErrorKind::kDenied, cat(parts...), kNoRight, 0});
}

}  // namespace

void RunsOfCaller::audit(std::string_view verb, std::string_view name, const Error* error) const {
  if (!access_.audit) return;
  model::AuditLine line;
  line.time = access_.clock->wall();
  line.actor = caller_.user.empty() ? "unauthenticated" : caller_.user;
  line.verb = verb;
  line.kind = "SparkRun";
  line.name = name;
  if (error != nullptr) {
    // A store that does not answer may have stored it.
    const bool open = error->kind == ErrorKind::kIo || error->kind == ErrorKind::kUnavailable ||
                      error->kind == ErrorKind::kDeadline || error->kind == ErrorKind::kInternal;
    line.outcome = open ? model::AuditOutcome::kUnknown : model::AuditOutcome::kRefused;
    line.detail = error->message;
  }
  access_.audit(std::move(line));
}

// User and business of the job.
Result<void> RunsOfCaller::complete(SparkJob& job) const {
  if (access_.rules == nullptr) {
    if (job.user.empty()) job.user = kUnknownUser;
    return {};
  }
  std::string business = caller_.business;
  if (job.user.empty()) job.user = caller_.user;
  if (job.user != caller_.user) {
    if (!caller_.admin) return forbidden("user ", caller_.user, " may not submit jobs of user ", job.user);
    const auto other = access_.rules->by_name(job.user);
    if (!other) return forbidden("user ", job.user, " is unknown");
    business = other->business;
  }
  const std::string_view named = job.conf_or(kBusinessConf, business);
  if (named != business && !caller_.admin) {
    return forbidden(kBusinessConf, ": user ", caller_.user, " belongs to business ", business, ", not to ", named);
  }
  job.conf.try_emplace(std::string(kBusinessConf), business);
  for (const auto& [key, value] : job.conf) {
    if (key.ends_with(kBusinessLabelConf)) return forbidden(key, " is set by the gateway");
  }
  return {};
}

net::Task<Result<Added>> RunsOfCaller::add(SparkJob job, std::string key) {
  const auto store = [&]() -> net::Task<Result<Added>> {
    TM_CO_TRY_VOID(complete(job));
    std::string hash = hash_of(job);  // before the rules: a repeated request meets its run after a change of them
    if (access_.rules != nullptr) {
      access_.rules->apply(job);
      TM_CO_TRY(job, checked(std::move(job)));
    }
    TM_CO_TRY(Added added, co_await runs_->add(std::move(job), std::move(key), std::move(hash)));
    if (added.existed && !caller_.admin && added.record.job.user != caller_.user) {
      co_return fail(ErrorKind::kConflict, "the idempotency key belongs to a run of another user");
    }
    co_return added;
  };
  auto added = co_await store();
  audit("submit", added ? cat(added->record.id) : "", added ? nullptr : &added.error());
  co_return added;
}

Result<std::optional<Record>> RunsOfCaller::if_allowed(Result<std::optional<Record>> found,
                                                       std::string_view verb) const {
  if (!found || !*found || caller_.admin || (*found)->job.user == caller_.user) return found;
  auto denied = forbidden("run ", (*found)->id, " belongs to another user");
  audit(verb, cat((*found)->id), &denied.error());
  return denied;
}

net::Task<Result<std::optional<Record>>> RunsOfCaller::find(std::int64_t id) {
  co_return if_allowed(co_await runs_->find(id), "get");
}

net::Task<Result<std::optional<Record>>> RunsOfCaller::find_key(std::string key) {
  co_return if_allowed(co_await runs_->find_key(std::move(key)), "get");
}

net::Task<Result<void>> RunsOfCaller::drop_key(std::int64_t id) {
  TM_CO_TRY_VOID(if_allowed(co_await runs_->find(id), "delete"));
  co_return co_await runs_->drop_key(id);
}

net::Task<Result<Page>> RunsOfCaller::page(std::int64_t from, std::int64_t size, RunFilter filter) {
  if (!caller_.admin) {
    if (!filter.user.empty() && filter.user != caller_.user) co_return Page{};
    filter.user = caller_.user;
  }
  co_return co_await runs_->page(from, size, std::move(filter));
}

net::Task<Result<void>> RunsOfCaller::cancel(std::int64_t id) {
  TM_CO_TRY_VOID(if_allowed(co_await runs_->find(id), "cancel"));
  auto cancelled = co_await runs_->cancel(id);
  audit("cancel", cat(id), cancelled ? nullptr : &cancelled.error());
  co_return cancelled;
}

net::Task<Result<void>> RunsOfCaller::set_no_more_kubernetes(bool value) {
  Result<void> done;
  if (caller_.admin) {
    done = co_await runs_->set_no_more_kubernetes(value);
  } else {
    done = forbidden("only an admin sets the switch");
  }
  audit(value ? "switch-on" : "switch-off", "no-more-kubernetes", done ? nullptr : &done.error());
  co_return done;
}

}  // namespace tidemark::gateway
