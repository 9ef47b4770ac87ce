#include "agent/tasks/kubelet_question.h"

#include <cstddef>
#include <utility>

#include "base/text.h"
#include "policy/explain/doctor/kubelet_configz.h"

namespace tidemark::agent {
namespace {

constexpr std::size_t kSaidBytesMax = 256;  // of an error answer, quoted in a message

Error refusal(const net::HttpResponse& response, const KubeletQuestion& question) {
  switch (response.status) {
    case 401:
      return {ErrorKind::kDenied,
              "the kubelet rejects the token (401): enable authentication.webhook so that it accepts bearer tokens"};
    case 403:
      return {ErrorKind::kDenied, base::cat("the kubelet refuses ", question.what, " (403): ", question.remedy)};
    default:
      return {ErrorKind::kUnavailable, base::cat("the kubelet answered ", response.status, " ",
                                                 base::in_quotes(base::trim(response.body).substr(0, kSaidBytesMax)))};
  }
}

}  // namespace

net::Task<Result<std::string>> ask_kubelet(net::HttpTransport& transport, std::string bearer, KubeletQuestion question,
                                           base::Duration limit) {
  net::HttpRequest request;
  request.target = question.target;
  request.headers.add("accept", "application/json");
  if (!bearer.empty()) request.headers.add("authorization", base::cat("Bearer ", bearer));
  TM_CO_TRY(net::HttpResponse response, co_await transport.fetch(std::move(request), limit));
  if (response.status != 200) co_return fail(refusal(response, question));
  co_return std::move(response.body);
}

net::Task<Result<policy::evict::KubeletFound>> ask_configz(net::HttpTransport& transport, std::string bearer) {
  constexpr KubeletQuestion kConfigz{
      "/configz", "its configuration",
      "grant `get` of nodes/configz, which kubelets know from Kubernetes 1.33 on; older ones know only nodes/proxy"};
  TM_CO_TRY(const std::string text, co_await ask_kubelet(transport, std::move(bearer), kConfigz, kKubeletAnswerLimit));
  auto found = policy::explain::parse_kubelet_configz(text);
  if (!found) co_return fail(std::move(found).error().within("the kubelet's configz"));
  co_return found;
}

}  // namespace tidemark::agent
