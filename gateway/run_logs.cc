#include "gateway/run_logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "gateway/door.h"
#include "gateway/log_lines.h"
#include "journal/whole_file.h"
#include "policy/route/run.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using namespace policy::route;

constexpr std::size_t kStateBytesMax = 1024 * 1024;
constexpr std::size_t kStepsMax = 500;
constexpr std::size_t kStepBytesMax = 4 * 1024 * 1024;  // of all steps of a run, beside the driver's output
constexpr std::int64_t kPieceMax = 1024 * 1024;         // bytes of one answer
// Two readings of one driver; clients that ask more often get what is there.
constexpr base::Duration kReadInterval = std::chrono::milliseconds(500);
constexpr base::Duration kReadWait = std::chrono::milliseconds(20);
constexpr base::Duration kRemoveInterval = std::chrono::hours(1);
constexpr std::string_view kFullLine = "the output of the driver is longer than --log-max-mib; the rest is left out\n";

Result<void> append_to(const std::string& path, std::string_view text) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail(ErrorKind::kUnavailable, path, ": ", std::strerror(errno));
  while (!text.empty()) {
    const ssize_t wrote = write(fd.get(), text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return fail(ErrorKind::kUnavailable, path, ": ", std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

std::int64_t size_of(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

// The steps before the driver's end, which its output comes before.
std::vector<std::string> steps_before_end(Record record, const std::string& app_id) {
  if (!record.run.attempts.empty()) record.run.attempts.back().end.reset();
  record.message.clear();
  auto steps = steps_of(record, app_id);
  if (is_final(record.run.phase) || record.run.phase == Phase::kEnding) steps.pop_back();
  return steps;
}

}  // namespace

RunLogs::RunLogs(net::EventLoop& loop, base::Log log, RunLogsOptions options)
    : loop_(loop), log_(std::move(log)), options_(std::move(options)), scope_(loop) {}

void RunLogs::start() {
  if (!options_.folder.empty()) scope_.spawn(remove_old());
}

std::string RunLogs::executor_path(std::int64_t run, std::string_view executor) {
  return cat(run, "/executor-", executor, ".log");
}

std::string RunLogs::path(std::int64_t run, std::string_view ending) const {
  return cat(options_.folder, "/", run, ending);
}

std::size_t RunLogs::log_bytes_max() const {
  return static_cast<std::size_t>(options_.bytes_max) + kStepBytesMax;
}

RunLogs::State RunLogs::load(std::int64_t run) const {
  State out;
  const auto bytes = journal::read_whole(path(run, ".state"), kStateBytesMax);
  const auto json = bytes && *bytes ? Json::parse(**bytes) : Result<Json>(Json());
  if (!json) return out;
  out.position = json->text_at("position");
  if (const Json* attempt = json->at("attempt")) out.attempt = attempt->get_int().value_or(0);
  if (const Json* full = json->at("full")) out.full = full->get_bool().value_or(false);
  if (const Json* whole = json->at("whole")) out.whole = whole->get_bool().value_or(false);
  if (const Json* steps = json->at("steps"); steps != nullptr && steps->is_array()) {
    for (const Json& step : steps->as_array()) out.steps.emplace_back(step.get_string().value_or(""));
  }
  return out;
}

void RunLogs::add(std::int64_t run, const State& state, std::string_view text) {
  if (text.empty()) return;
  if (const auto done = append_to(path(run, ".log"), text); !done) {
    log_.warn("cannot write the log of a run", {{"run", run}, {"error", done.error()}});
    return;
  }
  save(run, state);
}

void RunLogs::save(std::int64_t run, const State& state) {
  Json steps = Json::array();
  for (const auto& step : state.steps) steps.as_array().emplace_back(step);
  const Json json = Json::object({{"steps", std::move(steps)},
                                  {"attempt", state.attempt},
                                  {"position", state.position},
                                  {"full", state.full},
                                  {"whole", state.whole}});
  const auto done = journal::write_whole(path(run, ".state"), json.dump());
  if (!done) log_.warn("cannot write the state of the log of a run", {{"run", run}, {"error", done.error()}});
}

void RunLogs::add_steps(std::int64_t run, State& state, const std::vector<std::string>& steps) {
  std::string text;
  for (const auto& step : steps) {
    if (state.steps.size() >= kStepsMax || std::ranges::find(state.steps, step) != state.steps.end()) continue;
    state.steps.push_back(step);
    text += cat(step, "\n");
  }
  add(run, state, printable(text));
}

net::Task<bool> RunLogs::update(Record record, std::string app_id, SideClient* side) {
  if (options_.folder.empty()) co_return true;
  // A log that was removed stays removed: the archive may have it.
  if (is_final(record.run.phase) && !exists(path(record.id, ".log"))) co_return true;
  const bool ended = !record.run.attempts.empty() && record.run.attempts.back().end.has_value();
  while (updates_[record.id].runs) {
    if (!ended) co_return true;  // a client reads already
    co_await loop_.sleep(kReadWait);
  }
  Update& update = updates_[record.id];
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (!ended && now - update.last < kReadInterval) co_return true;
  update = {.runs = true, .last = now};
  // A client that goes away destroys this call.
  struct Running {
    std::map<std::int64_t, Update>& updates;
    std::int64_t run;
    bool final;
    ~Running() {
      updates[run].runs = false;
      if (final) updates.erase(run);
    }
  } running{updates_, record.id, is_final(record.run.phase)};
  if (auto made = journal::make_folder(options_.folder); !made) {
    log_.warn("cannot make the folder of logs", {{"error", made.error()}});
  }
  State state = load(record.id);
  add_steps(record.id, state, steps_before_end(record, app_id));
  const auto attempt = static_cast<std::int64_t>(record.run.attempts.size());
  const bool has_driver = attempt > 0 && !record.run.attempts.back().handle.empty();
  if (state.attempt != attempt) state = {std::move(state.steps), attempt, "", state.full, false};
  // Several reads: a side answers a part of a long log.
  bool failed = false;
  bool more = side != nullptr && has_driver && !state.full && !state.whole;
  while (more) {
    auto output = co_await side->read_log(record, state.position);
    if (!output) {
      failed = true;
      add_steps(record.id, state, {cat("cannot read the log of the driver: ", output.error().message)});
      break;
    }
    more = !output->text.empty() && output->more;
    if (output->text.empty()) break;
    state.position = std::move(output->position);
    std::string text = printable(output->text);
    // The steps of the gateway come into the log in any case.
    state.full = size_of(path(record.id, ".log")) + static_cast<std::int64_t>(text.size()) > options_.bytes_max;
    add(record.id, state, state.full ? kFullLine : std::string_view(text));
    more = more && !state.full;
  }
  add_steps(record.id, state, steps_of(record, app_id));
  if (ended && !failed && !state.whole) {
    state.whole = true;
    save(record.id, state);
  }
  co_return state.whole || !ended;
}

net::Task<void> RunLogs::archive_run(Record record) {
  if (archive_ == nullptr || options_.folder.empty()) co_return;
  auto bytes = journal::read_whole(path(record.id, ".log"), log_bytes_max());
  if (!bytes || !*bytes) co_return;
  const auto put = co_await archive_->put(cat(record.id, "/driver.log"), **std::move(bytes));
  if (!put) log_.warn("cannot archive the log of a run", {{"run", record.id}, {"error", put.error()}});
}

net::Task<Result<std::string>> RunLogs::text_of(const Record& record, const std::string& app_id) {
  if (!options_.folder.empty()) {
    TM_CO_TRY(auto bytes, journal::read_whole(path(record.id, ".log"), log_bytes_max()));
    if (bytes) co_return *std::move(bytes);
  }
  if (archive_ != nullptr && is_final(record.run.phase)) {
    auto archived = co_await archive_->read(cat(record.id, "/driver.log"), static_cast<std::int64_t>(log_bytes_max()));
    if (archived) co_return *std::move(archived);
    if (archived.error().kind != ErrorKind::kNotFound) co_return fail(std::move(archived).error());
  }
  std::string out;
  for (const auto& step : steps_of(record, app_id)) out += cat(step, "\n");
  co_return printable(out);
}

net::Task<Result<LogPiece>> RunLogs::piece(Record record, std::string app_id, std::int64_t from) {
  TM_CO_TRY(const std::string text, co_await text_of(record, app_id));
  const auto begin = std::clamp<std::int64_t>(from, 0, static_cast<std::int64_t>(text.size()));
  std::string part = text.substr(static_cast<std::size_t>(begin), kPieceMax);
  // An offset in a character, and an end in one: the part is whole characters.
  while (!part.empty() && (static_cast<unsigned char>(part.back()) & 0x80) != 0 && !base::valid_utf8(part)) {
    part.pop_back();
  }
  if (!base::valid_utf8(part)) co_return fail(ErrorKind::kInvalid, "from: offset ", from, " is inside of a character");
  const auto next = begin + static_cast<std::int64_t>(part.size());
  co_return LogPiece{next, std::move(part)};
}

net::Task<Result<std::vector<std::string>>> RunLogs::lines(Record record, std::string app_id) {
  TM_CO_TRY(const std::string text, co_await text_of(record, app_id));
  std::vector<std::string> out;
  for (const auto line : base::split(text, '\n')) out.emplace_back(line);
  if (!out.empty() && out.back().empty()) out.pop_back();
  co_return out;
}

net::Task<void> RunLogs::remove_old() {
  while (true) {
    std::error_code error;
    const auto oldest = std::filesystem::file_time_type::clock::now() - options_.keep;
    std::vector<std::filesystem::path> old;
    for (std::filesystem::directory_iterator at(options_.folder, error), end; !error && at != end;
         at.increment(error)) {
      if (at->last_write_time(error) < oldest && !error) old.push_back(at->path());
    }
    for (const auto& path : old) std::filesystem::remove(path, error);
    if (!old.empty()) log_.info("removed old logs of runs", {{"files", old.size()}});
    co_await loop_.sleep(kRemoveInterval);
  }
}

}  // namespace tidemark::gateway
