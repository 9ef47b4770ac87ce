#include "gateway/yarn_side.h"

#include <utility>

#include "base/text.h"
#include "gateway/log_lines.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using namespace policy::route;

constexpr base::Duration kLogLimit = std::chrono::seconds(5);  // a lost node must not hold up the move of its driver
constexpr std::int64_t kLogPartMax = 4 * 1024 * 1024;          // bytes of one read
constexpr std::string_view kHdfsUrl = "hdfs://";
constexpr int kMissedPollsMax = 5;  // after these, what was seen may be wrong

// YARN makes tags lower case.
std::string store_tag(std::string_view store) {
  return cat("tidemark-gateway:", store);
}
constexpr std::string_view kRunTag = "tidemark-run:";
constexpr std::string_view kAttemptTag = "tidemark-attempt:";

std::vector<std::string> tags_of(const Record& record, std::string_view store) {
  std::vector<std::string> tags = {store_tag(store), cat(kRunTag, record.id),
                                   cat(kAttemptTag, record.run.attempts.size()),
                                   cat("tidemark-class:", record.job.conf_or(kClassConf, kDefaultClass))};
  if (const auto business = record.job.conf_or(kBusinessConf, ""); !business.empty()) {
    tags.push_back(cat("tidemark-business:", business));
  }
  return tags;
}

std::optional<std::int64_t> number_in(const std::vector<std::string>& tags, std::string_view prefix) {
  for (const auto& tag : tags) {
    if (tag.starts_with(prefix)) return base::parse_int(std::string_view(tag).substr(prefix.size()));
  }
  return std::nullopt;
}

Observation seen_in(const hadoop::ApplicationState& application) {
  return observe(Application{application.state, application.final_status, application.diagnostics});
}

}  // namespace

YarnSide::YarnSide(net::EventLoop& loop, std::unique_ptr<hadoop::ApplicationClient> applications,
                   hadoop::ContainerLogs logs, hadoop::HdfsAccess hdfs, base::Log log, YarnOptions options,
                   SideOwner owner)
    : loop_(loop),
      applications_(std::move(applications)),
      logs_(std::move(logs)),
      hdfs_(std::move(hdfs)),
      log_(std::move(log)),
      options_(std::move(options)),
      owner_(std::move(owner)),
      scope_(loop) {}

void YarnSide::start() {
  scope_.spawn(poll());
}

std::string YarnSide::cannot_run(const SparkJob& job) const {
  return not_for_yarn(job, options_);
}

net::Task<Result<Reservation>> YarnSide::reserve(const Record&) {
  TM_CO_TRY(std::string id, co_await applications_->reserve_id(kCallLimit));
  co_return Reservation{std::move(id)};
}

std::string YarnSide::app_id(const Record& record) const {
  return record.run.attempts.back().handle;
}

net::Task<Result<DriverOutput>> YarnSide::read_log(const Record& record, std::string position) {
  LogPosition at = decode_log_position(position);
  TM_CO_TRY(const auto application, co_await applications_->find(record.run.attempts.back().handle, kCallLimit));
  if (application.master_log.empty()) co_return DriverOutput{"", position};
  const bool ended = record.run.attempts.back().end.has_value();
  DriverOutput out;
  for (const auto& [file, read] :
       {std::pair("stderr", &LogPosition::error_bytes), std::pair("stdout", &LogPosition::output_bytes)}) {
    auto bytes = co_await logs_.read(application.master_log, file, at.*read, kLogPartMax, kLogLimit);
    if (!bytes) {
      // The container writes its files once it starts.
      if (bytes.error().kind == ErrorKind::kNotFound && !ended) continue;
      co_return fail(std::move(bytes).error());
    }
    if (!ended) bytes->text.resize(bytes->text.rfind('\n') + 1);  // npos + 1 is 0: no whole line
    at.*read += static_cast<std::int64_t>(bytes->text.size());
    out.text += bytes->text;
    out.more = out.more || bytes->more;
    if (ended && !bytes->text.empty() && !bytes->text.ends_with('\n')) out.text += '\n';
  }
  out.position = encode(at);
  co_return out;
}

net::Task<Result<std::string>> YarnSide::read_executor_log(const Record&, std::string) {
  co_return fail(ErrorKind::kNotFound, "YARN keeps the logs of its executors: see the page of the application");
}

net::Task<Result<std::vector<YarnResource>>> YarnSide::find_resources(const SparkJob& job) {
  auto resources = yarn_resources(job);
  for (auto& each : resources) {
    TM_CO_TRY(auto place, hadoop::open_hdfs(loop_, hdfs_, each.url.substr(0, each.url.find('#'))));
    TM_CO_TRY(const auto file, co_await place.files.status(place.path, kCallLimit));
    each.url = cat(place.file_system, place.path);
    each.bytes = file.bytes;
    each.modified_ms = file.modified_ms;
  }
  co_return resources;
}

net::Task<Result<hadoop::DelegationToken>> YarnSide::token_of(std::string authority) {
  TM_CO_TRY(auto place, hadoop::open_hdfs(loop_, hdfs_, cat(kHdfsUrl, authority, "/")));
  TM_CO_TRY(auto token, co_await place.files.delegation_token(options_.renewer, kCallLimit));
  TM_CO_TRY(token.service, co_await hadoop::token_service(loop_, hdfs_, authority, kCallLimit));
  co_return token;
}

// With Kerberos: the containers have no ticket, so they get a token for each file system of the job.
net::Task<Result<std::string>> YarnSide::tokens_for(const SparkJob& job) {
  if (options_.renewer.empty()) co_return std::string();
  std::set<std::string> file_systems;
  const auto add = [&](std::string_view url) {
    if (url.starts_with(kHdfsUrl))
      file_systems.emplace(url.substr(kHdfsUrl.size(), url.find('/', kHdfsUrl.size()) - kHdfsUrl.size()));
  };
  if (const auto own = options_.hadoop.find("fs.defaultFS"); own != options_.hadoop.end()) add(own->second);
  for (const auto url : base::split(job.conf_or("spark.kerberos.access.hadoopFileSystems", ""), ',')) {
    add(base::trim(url));
  }
  for (const YarnResource& each : yarn_resources(job)) add(each.url);
  file_systems.erase("");  // hdfs:///PATH is in fs.defaultFS
  std::vector<hadoop::DelegationToken> tokens;
  for (const std::string& authority : file_systems) {
    auto token = co_await token_of(authority);
    if (!token) co_return fail(std::move(token).error().within(cat("a token for ", kHdfsUrl, authority)));
    tokens.push_back(*std::move(token));
  }
  co_return hadoop::encode_credentials(tokens);
}

net::Task<Submission> YarnSide::submit(const Record& record) {
  const SparkJob job = job_of_attempt(record);
  const auto resources = co_await find_resources(job);
  if (!resources) {
    const bool wrong = resources.error().kind == ErrorKind::kNotFound || resources.error().kind == ErrorKind::kInvalid;
    if (!wrong) co_return Submission{.message = resources.error().message};
    co_return Submission{Submission::Outcome::kRefused, EndClass::kUser, resources.error().message};
  }
  auto body =
      yarn_submission(job, record.run.attempts.back().handle, tags_of(record, owner_.store), options_, *resources);
  if (!body) co_return Submission{Submission::Outcome::kRefused, EndClass::kUser, body.error().message};
  auto tokens = co_await tokens_for(job);
  if (!tokens) {
    if (tokens.error().kind != ErrorKind::kInvalid) co_return Submission{.message = tokens.error().message};
    co_return Submission{Submission::Outcome::kRefused, EndClass::kUser, tokens.error().message};
  }
  body->master.tokens = *std::move(tokens);
  const auto answer = co_await applications_->submit(*std::move(body), kCallLimit);
  if (answer) co_return Submission{Submission::Outcome::kAccepted, {}, ""};
  if (answer.error().kind != ErrorKind::kInvalid) co_return Submission{.message = answer.error().message};
  // A ResourceManager that still takes in the same id refuses it as a duplicate: the submission of a gateway that was
  // killed meanwhile. So the application decides, not the answer.
  const auto there = co_await applications_->find(record.run.attempts.back().handle, kCallLimit);
  if (there) co_return Submission{Submission::Outcome::kAccepted, {}, ""};
  if (there.error().kind != ErrorKind::kNotFound) co_return Submission{.message = there.error().message};
  co_return Submission{Submission::Outcome::kRefused, EndClass::kUser, answer.error().message};
}

Observation YarnSide::look(const Record& record) const {
  const auto [at, added] = followed_.try_emplace(record.run.attempts.back().handle);
  at->second.run = record.id;
  const bool fresh = last_contact_ && loop_.clock().monotonic() - *last_contact_ < kMissedPollsMax * options_.poll;
  if (!fresh && at->second.seen.state != DriverState::kEnded) return {};
  return at->second.seen;
}

net::Task<Stopped> YarnSide::stop(const Record& record) {
  const std::string id = record.run.attempts.back().handle;
  const auto killed = co_await applications_->kill(id, kCallLimit);
  if (!killed && killed.error().kind != ErrorKind::kNotFound) co_return Stopped{.message = killed.error().message};
  const auto found = co_await applications_->find(id, kCallLimit);
  if (!found) {
    // A submission that arrives after a cancel is killed by the next poll. A move needs the certain end.
    if (found.error().kind != ErrorKind::kNotFound) co_return Stopped{.message = found.error().message};
    co_return Stopped{.outcome = record.run.cancel ? Stopped::Outcome::kGone : Stopped::Outcome::kAbsent,
                      .message = found.error().message};
  }
  const Observation seen = seen_in(*found);
  if (seen.state != DriverState::kEnded) co_return Stopped{.message = "the application still stops"};
  co_return Stopped{.outcome = Stopped::Outcome::kGone, .end = seen.end};
}

net::Task<Result<void>> YarnSide::release(const Record& record, bool) {
  followed_.erase(record.run.attempts.back().handle);
  co_return Result<void>();
}

void YarnSide::note(const std::string& id, const Observation& seen) {
  const auto at = followed_.find(id);
  if (at == followed_.end()) return;
  const bool changed = at->second.seen.state != seen.state;
  at->second.seen = seen;
  if (changed) owner_.on_change(at->second.run);
}

net::Task<void> YarnSide::kill_stray(const hadoop::ApplicationState& application) {
  log_.warn("killing an application that appeared after the end of its attempt", {{"application", application.id}});
  const auto killed = co_await applications_->kill(application.id, kCallLimit);
  if (!killed) {
    log_.warn("cannot kill an application; retrying", {{"application", application.id}, {"error", killed.error()}});
  }
}

net::Task<Result<void>> YarnSide::poll_once() {
  TM_CO_TRY(const auto running, co_await applications_->running(store_tag(owner_.store), kCallLimit));
  std::set<std::string> listed;
  for (const auto& application : running) {
    listed.insert(application.id);
    note(application.id, seen_in(application));
    const auto run = number_in(application.tags, kRunTag);
    const auto attempt = number_in(application.tags, kAttemptTag);
    if (run && attempt && !co_await owner_.is_live(*run, *attempt)) co_await kill_stray(application);
  }
  std::vector<std::string> rest;
  for (const auto& [id, followed] : followed_) {
    if (!listed.contains(id) && followed.seen.state != DriverState::kEnded) rest.push_back(id);
  }
  for (const auto& id : rest) {
    const auto found = co_await applications_->find(id, kCallLimit);
    if (found) {
      note(id, seen_in(*found));
    } else if (found.error().kind == ErrorKind::kNotFound) {
      note(id, {DriverState::kAbsent});
    } else {
      co_return fail(found.error());
    }
  }
  last_contact_ = loop_.clock().monotonic();
  co_return Result<void>();
}

net::Task<void> YarnSide::poll() {
  while (true) {
    const auto polled = co_await poll_once();
    if (!polled) log_.warn("cannot list applications; retrying", {{"error", polled.error()}});
    co_await loop_.sleep(options_.poll);
  }
}

}  // namespace tidemark::gateway
