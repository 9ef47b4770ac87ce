#include "hadoop/applications_rest.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::hadoop {
namespace {

using base::cat;
using base::JsonReader;

constexpr std::string_view kApps = "/ws/v1/cluster/apps";
constexpr std::string_view kScheduler = "/ws/v1/cluster/scheduler";
constexpr std::size_t kShownMax = 500;  // bytes of an unexpected answer

void read_state(JsonReader& json, ApplicationState& out) {
  json.object([&](std::string_view key) {
    if (key == "id") {
      json.string(out.id);
    } else if (key == "state") {
      json.string(out.state);
    } else if (key == "finalStatus") {
      json.string(out.final_status);
    } else if (key == "diagnostics") {
      json.string(out.diagnostics);
      if (out.diagnostics.size() > kApplicationDiagnosticsMax) out.diagnostics.resize(kApplicationDiagnosticsMax);
    } else if (key == "amContainerLogs") {
      json.string(out.master_log);
    } else if (key == "applicationTags") {
      std::string tags;
      json.string(tags);
      for (const auto tag : base::split(tags, ',')) {
        if (!base::trim(tag).empty()) out.tags.emplace_back(base::trim(tag));
      }
    } else {
      json.skip();
    }
  });
}

Error unexpected(std::string_view doing, const net::HttpResponse& answer) {
  const ErrorKind kind = answer.status == 404                           ? ErrorKind::kNotFound
                         : answer.status == 401 || answer.status == 403 ? ErrorKind::kDenied
                         : answer.status == 400                         ? ErrorKind::kInvalid
                         : answer.status == 429                         ? ErrorKind::kExhausted
                                                                        : ErrorKind::kUnavailable;
  return {kind,
          cat(doing, ": the ResourceManager answered ", answer.status, " ",
              base::in_quotes(base::trim(std::string_view(answer.body).substr(0, kShownMax)), kShownMax)),
          answer.status, 0};
}

}  // namespace

Result<std::vector<ApplicationState>> parse_application_list(std::string_view text) {
  std::vector<ApplicationState> out;
  JsonReader json(text);
  json.object([&](std::string_view key) {
    if (key != "apps") {
      json.skip();
      return;
    }
    json.object([&](std::string_view inner) {  // null or {} without applications
      if (inner != "app") {
        json.skip();
        return;
      }
      json.array([&] { read_state(json, out.emplace_back()); });
    });
  });
  if (auto end = json.finish(); !end) return fail(std::move(end).error().within("the applications"));
  return out;
}

Result<ApplicationState> parse_application(std::string_view text) {
  ApplicationState out;
  JsonReader json(text);
  json.object([&](std::string_view key) {
    if (key == "app") {
      read_state(json, out);
    } else {
      json.skip();
    }
  });
  if (auto end = json.finish(); !end) return fail(std::move(end).error().within("the application"));
  if (out.id.empty()) return fail(ErrorKind::kInvalid, "the application: the answer has no id");
  return out;
}

ApplicationsRest::ApplicationsRest(net::EventLoop& loop, net::WorkerPool* workers, const RmCluster& cluster,
                                   std::string user)
    : user_(std::move(user)) {
  for (const RmAddresses& member : cluster.members) {
    if (!member.web) continue;
    net::HttpClientConfig config;
    config.url = *member.web;
    config.limits.body_bytes_max = kApplicationsAnswerBytesMax;
    Member made;
    made.client = std::make_unique<net::HttpClient>(loop, workers, std::move(config));
    if (cluster.security) {
      made.proving =
          std::make_unique<NegotiatingTransport>(loop, *made.client, cluster.make_gss, cat("HTTP/", member.web->host));
    }
    members_.push_back(std::move(made));
  }
}

net::Task<Result<net::HttpResponse>> ApplicationsRest::ask(std::string method, std::string path, std::string body,
                                                           base::Duration limit) {
  if (members_.empty()) co_return fail(ErrorKind::kInvalid, "no ResourceManager has a web address");
  // Without Kerberos the ResourceManager takes the name of the user from here.
  if (!user_.empty() && !members_[0].proving) {
    path += cat(path.contains('?') ? '&' : '?', "user.name=", net::percent_encode(user_));
  }
  std::optional<Error> last;
  for (std::size_t tried = 0; tried < members_.size(); ++tried) {
    const Member& member = members_[active_];
    net::HttpTransport& door = member.proving ? static_cast<net::HttpTransport&>(*member.proving) : *member.client;
    net::HttpRequest request;
    request.method = method;
    request.target = path;
    request.headers.add("accept", "application/json");
    if (!body.empty()) request.headers.add("content-type", "application/json");
    request.body = body;
    auto answer = co_await door.fetch(std::move(request), limit);
    if (answer && answer->status != 307 && answer->status < 500) co_return std::move(*answer);
    last = answer ? unexpected(cat(method, " ", path.substr(0, path.find('?'))), *answer) : std::move(answer).error();
    active_ = (active_ + 1) % members_.size();
  }
  co_return fail(std::move(*last));
}

net::Task<Result<std::string>> ApplicationsRest::reserve_id(base::Duration limit) {
  TM_CO_TRY(const auto answer, co_await ask("POST", cat(kApps, "/new-application"), "{}", limit));
  if (answer.status != 200) co_return fail(unexpected("reserve an application id", answer));
  TM_CO_TRY(const Json json, Json::parse(answer.body));
  std::string id(json.text_at("application-id"));
  if (id.empty()) co_return fail(ErrorKind::kInvalid, "reserve an application id: the answer has none");
  co_return id;
}

net::Task<Result<void>> ApplicationsRest::submit(ApplicationSubmission submission, base::Duration limit) {
  TM_CO_TRY(const auto answer, co_await ask("POST", std::string(kApps), submission_json(submission), limit));
  if (answer.status != 202 && answer.status != 200) co_return fail(unexpected("submit an application", answer));
  co_return Result<void>();
}

net::Task<Result<ApplicationState>> ApplicationsRest::find(std::string id, base::Duration limit) {
  TM_CO_TRY(const auto answer, co_await ask("GET", cat(kApps, "/", id), "", limit));
  if (answer.status != 200) co_return fail(unexpected(cat("read ", id), answer));
  co_return parse_application(answer.body);
}

net::Task<Result<std::vector<ApplicationState>>> ApplicationsRest::running(std::string tag, base::Duration limit) {
  const std::string path = cat(kApps, "?applicationTags=", net::percent_encode(tag),
                               "&states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING&deSelects=resourceRequests");
  TM_CO_TRY(const auto answer, co_await ask("GET", path, "", limit));
  if (answer.status != 200) co_return fail(unexpected("list applications", answer));
  co_return parse_application_list(answer.body);
}

net::Task<Result<void>> ApplicationsRest::kill(std::string id, base::Duration limit) {
  TM_CO_TRY(const auto answer, co_await ask("PUT", cat(kApps, "/", id, "/state"), R"({"state":"KILLED"})", limit));
  if (answer.status != 200 && answer.status != 202) co_return fail(unexpected(cat("kill ", id), answer));
  co_return Result<void>();
}

net::Task<Result<std::vector<QueueState>>> ApplicationsRest::queues(base::Duration limit) {
  TM_CO_TRY(const auto answer, co_await ask("GET", std::string(kScheduler), "", limit));
  if (answer.status != 200) co_return fail(unexpected("read the queues", answer));
  co_return parse_queues(answer.body);
}

}  // namespace tidemark::hadoop
