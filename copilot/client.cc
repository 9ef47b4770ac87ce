#include "copilot/client.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "model/quantity.h"

namespace tidemark::copilot {
namespace {

constexpr int kOk = 200, kAccepted = 202, kNotFound = 404;

net::HttpRequest get(std::string target) {
  net::HttpRequest request;
  request.target = std::move(target);
  return request;
}

net::HttpRequest post(std::string target, std::string body) {
  net::HttpRequest request;
  request.method = "POST";
  request.target = std::move(target);
  request.headers.add("content-type", "application/json");
  request.body = std::move(body);
  return request;
}

}  // namespace

Result<net::HttpClientConfig> socket_config(std::string_view path) {
  if (!path.starts_with('/')) {
    return fail(ErrorKind::kInvalid, "a copilot's socket is an absolute path, found ", base::in_quotes(path));
  }
  net::HttpClientConfig config;
  config.url.scheme = "unix";
  config.url.host = std::string(path);
  config.limits.body_bytes_max = kAnswerBytesMax;
  return config;
}

net::Task<Result<std::string>> Client::call(net::HttpRequest request, base::Duration limit) {
  const std::string what = base::cat(request.method, " ", request.target.substr(0, request.target.find('?')));
  auto response = co_await transport_.fetch(std::move(request), limit);
  if (!response) co_return fail(std::move(response).error().within(what));
  if (response->status == kOk || response->status == kAccepted) co_return std::move(response->body);
  const std::string_view said = base::trim(response->body);
  Error error{response->status == kNotFound ? ErrorKind::kUnsupported : ErrorKind::kUnavailable,
              base::cat(what, ": the copilot answered ", response->status,
                        said.empty() || said == "{}" ? std::string() : base::cat(" ", base::in_quotes(said))),
              response->status, 0};
  co_return fail(std::move(error));
}

net::Task<Result<Information>> Client::information(base::Duration limit) {
  TM_CO_TRY(const std::string body, co_await call(get("/information"), limit));
  co_return read_information(body);
}

net::Task<Result<ContainerList>> Client::containers(base::Duration limit) {
  TM_CO_TRY(const std::string body, co_await call(get("/v1/containers"), limit));
  co_return read_containers(body);
}

net::Task<Result<Container>> Client::container(std::string id, base::Duration limit) {
  TM_CO_TRY(const std::string body,
            co_await call(get(base::cat("/v1/container?containerID=", net::percent_encode(id))), limit));
  co_return read_container(body);
}

net::Task<Result<Container>> Client::kill(std::string id, base::Duration limit) {
  std::string body;
  base::JsonWriter(body).begin_object().member("containerID", id).end_object();
  TM_CO_TRY(const std::string answer, co_await call(post("/v1/killContainer", std::move(body)), limit));
  TM_CO_TRY(std::vector<Container> items, read_items(answer));
  if (items.size() != 1) {
    co_return fail(ErrorKind::kInvalid, "what a copilot killed: wanted one container, found ", items.size());
  }
  co_return std::move(items.front());
}

net::Task<Result<void>> Client::stop(StopOrder order, base::Duration limit) {
  std::string body;
  base::JsonWriter(body)
      .begin_object()
      .member("containerID", order.id)
      .member("graceSeconds", static_cast<std::int64_t>(order.grace.count()))
      .member("reason", order.reason)
      .end_object();
  TM_CO_TRY_VOID(co_await call(post("/tidemark/v1/stop", std::move(body)), limit));
  co_return Result<void>();
}

net::Task<Result<std::string>> Client::send_limit_permit(LimitPermit permit, base::Duration limit) {
  std::string body;
  base::JsonWriter(body).begin_object().member("permit", to_string(permit)).end_object();
  TM_CO_TRY(const std::string answer, co_await call(post("/tidemark/v1/permit", std::move(body)), limit));
  auto said = Json::parse(answer);
  if (!said) co_return fail(std::move(said).error().within("what a copilot says of its limits"));
  co_return std::string(said->text_at("says").substr(0, kSaysBytesMax));
}

net::Task<Result<std::vector<Container>>> Client::kill_by_resource(model::Resources amount, base::Duration limit) {
  std::string body;
  base::JsonWriter(body)
      .begin_object()
      .key("resources")
      .begin_object()
      .member("cpu", model::Quantity::of_milli(amount.cpu.value).canonical())
      .member("memory", model::Quantity::of(amount.memory.value, model::Quantity::Format::kBinarySI).canonical())
      .end_object()
      .end_object();
  TM_CO_TRY(const std::string answer, co_await call(post("/v1/killContainersByResource", std::move(body)), limit));
  if (base::trim(answer).empty()) {
    co_return fail(ErrorKind::kUnsupported, "this copilot does not kill by resource: it answers with nothing");
  }
  co_return read_items(answer);
}

}  // namespace tidemark::copilot
