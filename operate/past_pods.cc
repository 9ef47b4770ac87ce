#include "operate/past_pods.h"

#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "journal/past_server.h"
#include "kube/status.h"
#include "operate/list_pages.h"

namespace tidemark::operate {
namespace {

constexpr std::string_view kSelector = "app.kubernetes.io/name=tidemark,app.kubernetes.io/component=";
constexpr std::size_t kErrorShown = 500;  // bytes of an answer that is an error

// Of the container port that serves the past; 0: none has its name.
int past_port(const Json& pod) {
  const Json* containers = pod.at("spec", "containers");
  if (containers == nullptr || !containers->is_array()) return 0;
  for (const Json& container : containers->as_array()) {
    const Json* ports = container.member("ports");
    if (ports == nullptr || !ports->is_array()) continue;
    for (const Json& port : ports->as_array()) {
      const Json* number = port.member("containerPort");
      if (port.text_at("name") == journal::kPastPort && number != nullptr) {
        return static_cast<int>(number->get_int().value_or(0));
      }
    }
  }
  return 0;
}

// What a pod or the API server says in an answer that is an error.
Error error_of(const net::HttpResponse& answer) {
  const auto status = kube::parse_status(answer.body);
  std::string text = status ? status->message : std::string(base::trim(answer.body.substr(0, kErrorShown)));
  return {kube::kind_of(answer.status, ""), base::cat(answer.status, text.empty() ? "" : " ", text), answer.status, 0};
}

}  // namespace

PastPods::PastPods(net::EventLoop& loop, net::HttpTransport& transport, std::function<std::string()> bearer,
                   kube::Client& client, PastPodsOptions options)
    : loop_(loop), transport_(transport), bearer_(std::move(bearer)), client_(client), options_(std::move(options)) {}

net::Task<Result<std::vector<PodAnswer>>> PastPods::ask_managers(std::string what) {
  TM_CO_TRY(const std::vector<Pod> found, co_await pods("manager", ""));
  if (found.empty()) co_return fail(ErrorKind::kNotFound, "no manager runs in namespace ", options_.ns);
  std::vector<PodAnswer> out;
  for (const Pod& pod : found) {
    auto body = co_await ask(pod, what);
    out.push_back({pod.name, std::move(body)});
  }
  co_return out;
}

net::Task<Result<std::string>> PastPods::ask_agent(std::string node, std::string what) {
  TM_CO_TRY(const std::vector<Pod> found, co_await pods("agent", node));
  if (found.empty()) {
    co_return fail(ErrorKind::kNotFound, "no agent runs on node ", node, " in namespace ", options_.ns);
  }
  auto answer = co_await ask(found.front(), std::move(what));
  if (!answer) {
    co_return std::unexpected(
        std::move(answer).error().within(base::cat("the agent of node ", node, " does not answer")));
  }
  co_return answer;
}

net::Task<Result<std::vector<PastPods::Pod>>> PastPods::pods(std::string component, std::string node) {
  std::vector<Pod> out;
  kube::ListOptions list;
  list.ns = options_.ns;
  list.label_selector = base::cat(kSelector, component);
  list.field_selector = base::cat("status.phase=Running", node.empty() ? "" : ",spec.nodeName=", node);
  list.resource_version = "0";  // from the API server's cache, which knows the pods of a node
  TM_CO_TRY_VOID(co_await list_pages(
      loop_, client_, kube::kPods, std::move(list), kAnswerLimit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const Json pod, Json::parse(item));
        out.push_back({std::string(pod.text_at("metadata", "name")), past_port(pod)});
        return {};
      },
      [&] { out.clear(); }));
  co_return out;
}

net::Task<Result<std::string>> PastPods::token() {
  if (options_.token) {
    std::string given = options_.token();
    if (given.empty()) co_return fail(ErrorKind::kUnavailable, "the token for managers and agents cannot be read");
    co_return given;
  }
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (!token_.empty() && now - token_made_ < kTokenUsed) co_return token_;
  const Json body = Json::object(
      {{"apiVersion", "authentication.k8s.io/v1"},
       {"kind", "TokenRequest"},
       {"spec",
        Json::object({{"audiences", Json::array({Json(journal::kPastAudience)})},
                      {"expirationSeconds", std::chrono::duration_cast<std::chrono::seconds>(kTokenLife).count()}})}});
  kube::WriteOptions options;
  options.ns = options_.ns;
  options.subresource = "token";
  auto made = co_await client_.create(kube::kServiceAccounts, body.dump(), options, options_.account, kAnswerLimit);
  if (!made) {
    co_return std::unexpected(
        std::move(made).error().within(base::cat("requesting a token of ServiceAccount ", options_.account)));
  }
  TM_CO_TRY(const Json answer, Json::parse(*made));
  token_ = answer.text_at("status", "token");
  token_made_ = now;
  if (token_.empty()) co_return fail(ErrorKind::kInvalid, "the API server gave no token");
  co_return token_;
}

net::Task<Result<std::string>> PastPods::ask(Pod pod, std::string what) {
  if (pod.port == 0) {
    co_return fail(ErrorKind::kNotFound, "pod ", pod.name, " has no port `", journal::kPastPort,
                   "`: it is older, or console.enabled of the chart is not set");
  }
  TM_CO_TRY(const std::string token, co_await this->token());
  net::HttpRequest request;
  request.target = base::cat("/api/v1/namespaces/", net::percent_encode(options_.ns),
                             "/pods/https:", net::percent_encode(pod.name), ":", pod.port, "/proxy", what);
  const std::string bearer = bearer_();
  if (!bearer.empty()) request.headers.set("authorization", base::cat("Bearer ", bearer));
  request.headers.set(journal::kPastToken, token);
  TM_CO_TRY(net::HttpResponse answer, co_await transport_.fetch(std::move(request), kAnswerLimit));
  if (answer.status != 200) co_return std::unexpected(error_of(answer));
  if (answer.body.size() > journal::kPastAnswerMax) {
    co_return fail(ErrorKind::kExhausted, "pod ", pod.name, " answered more than ", journal::kPastAnswerMax, " bytes");
  }
  co_return std::move(answer.body);
}

}  // namespace tidemark::operate
