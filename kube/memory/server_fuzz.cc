// Any conversation with the API server: each line of the input is a request, "METHOD target body". Each has an answer,
// a failure says why, and what was stored can be listed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/testing/clock.h"
#include "base/text.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "net/testing/loop.h"

namespace {

using namespace tidemark;
using namespace tidemark::kube::memory;

constexpr std::size_t kRequestsMax = 12;

net::Task<void> keep(net::Task<Result<net::HttpResponse>> task, std::optional<Result<net::HttpResponse>>& out) {
  out.emplace(co_await task);
}

// nullopt: it goes on for ever, like a watch.
std::optional<Result<net::HttpResponse>> call(net::EventLoop& loop, base::testing::Clock& clock,
                                              LocalTransport& transport, net::HttpRequest request) {
  std::optional<Result<net::HttpResponse>> answer;
  net::Scope scope(loop);
  scope.spawn(keep(transport.fetch(std::move(request), std::chrono::seconds(60)), answer));
  net::testing::run_until(loop, clock, [&] { return answer.has_value(); }, std::chrono::minutes(2));
  return answer;
}

std::string_view media_type(std::string_view method, std::string_view body) {
  if (method != "PATCH") return "application/json";
  if (body.starts_with("[")) return "application/json-patch+json";
  return body.size() % 2 == 0 ? "application/merge-patch+json" : "application/strategic-merge-patch+json";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  base::testing::Clock clock;
  net::EventLoop loop(clock);
  auto server = Server::open(loop, base::Log(clock, {.write = [](std::string_view) {}}), {}, nullptr);
  TM_CHECK(server.has_value(), "a server without a file opens");
  LocalTransport transport(loop, (*server)->handler(), "fuzz");
  std::size_t requests = 0;
  for (const auto line : base::split({reinterpret_cast<const char*>(data), size}, '\n')) {
    if (++requests > kRequestsMax) break;
    const std::size_t first = line.find(' ');
    if (first == std::string_view::npos) continue;
    const std::size_t second = std::min(line.find(' ', first + 1), line.size());
    net::HttpRequest request;
    request.method = std::string(line.substr(0, first));
    request.target = std::string(line.substr(first + 1, second - first - 1));
    request.body = std::string(line.substr(std::min(second + 1, line.size())));
    if (!request.target.starts_with("/")) continue;  // the codecs let no other through
    if (!request.body.empty()) request.headers.set("content-type", media_type(request.method, request.body));
    const auto answer = call(loop, clock, transport, std::move(request));
    if (!answer || !*answer) continue;
    const int status = (*answer)->status;
    TM_CHECK(status >= 200 && status < 600, "an answer");
    // The real server answers 500 to some client mistakes, always with a reason; a missing reason means no handler
    // answered.
    const auto body = Json::parse((*answer)->body);
    TM_CHECK(status != 500 || (body && !body->text_at("message").empty()), "a failure says why");
  }
  for (const char* kind : {"/api/v1/pods", "/api/v1/nodes", "/api/v1/configmaps", "/api/v1/namespaces",
                           "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"}) {
    for (const char* accept : {"application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"}) {
      net::HttpRequest request;
      request.target = kind;
      request.headers.set("accept", accept);
      const auto answer = call(loop, clock, transport, std::move(request));
      TM_CHECK(answer && *answer && (*answer)->status == 200, "what was stored can be listed, and shown to people");
      TM_CHECK(Json::parse((*answer)->body).has_value(), "and is JSON");
    }
  }
  return 0;
}
