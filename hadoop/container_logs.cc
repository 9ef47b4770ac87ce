#include "hadoop/container_logs.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "hadoop/negotiate.h"
#include "net/http_client.h"

namespace tidemark::hadoop {
namespace {

using base::cat;

constexpr std::string_view kLength = "\nLogLength:";
constexpr std::string_view kContents = "\nLogContents:\n";
constexpr std::string_view kPage = "/node/containerlogs/";
constexpr std::size_t kLogShownMax = 300;        // bytes of an unexpected answer
constexpr std::int64_t kGrowthMax = 256 * 1024;  // of a file between two requests
constexpr int kRedirectsMax = 2;

struct Redirect {
  net::Url server;
  std::string target;
};
Result<Redirect> redirect_of(std::string_view place) {
  const auto begin = place.find("://");
  const auto slash = begin == std::string_view::npos ? begin : place.find('/', begin + 3);
  if (slash == std::string_view::npos) return fail(ErrorKind::kInvalid, "no URL: ", base::in_quotes(place));
  TM_TRY(auto server, net::parse_url(place.substr(0, slash)));
  return Redirect{std::move(server), std::string(place.substr(slash))};
}

}  // namespace

std::optional<ContainerFile> container_file(std::string_view answer, std::int64_t asked) {
  const auto contents = answer.find(kContents);
  if (contents == std::string_view::npos) return std::nullopt;
  const auto length = answer.substr(0, contents).rfind(kLength);
  if (length == std::string_view::npos) return std::nullopt;
  std::string_view number = answer.substr(length + kLength.size());
  number = base::trim(number.substr(0, number.find('\n')));
  const auto total = base::parse_int(number);
  if (!total || *total < 0) return std::nullopt;
  const std::string_view rest = answer.substr(contents + kContents.size());
  const auto shown = static_cast<std::size_t>(std::min(*total, asked));
  if (rest.size() < shown) return std::nullopt;
  return ContainerFile{*total, rest.substr(0, shown)};
}

Result<ContainerPlace> container_place(std::string_view log_page) {
  TM_TRY(auto redirect, redirect_of(log_page));
  std::string_view path = redirect.target;
  if (!path.starts_with(kPage)) return fail(ErrorKind::kInvalid, "no page of a container: ", base::in_quotes(log_page));
  path.remove_prefix(kPage.size());
  return ContainerPlace{std::move(redirect.server), std::string(path.substr(0, path.find('/')))};
}

ContainerLogs::ContainerLogs(net::EventLoop& loop, net::WorkerPool* workers, std::string user, MakeGss make_gss,
                             std::string log_server)
    : loop_(loop),
      workers_(workers),
      user_(std::move(user)),
      make_gss_(std::move(make_gss)),
      log_server_(std::move(log_server)) {}

net::Task<Result<std::string>> ContainerLogs::ask(net::Url server, std::string target, base::Duration limit,
                                                  int redirects) {
  net::HttpClientConfig config;
  config.url = server;
  net::HttpClient client(loop_, workers_, std::move(config));
  std::unique_ptr<NegotiatingTransport> proving;
  if (make_gss_) proving = std::make_unique<NegotiatingTransport>(loop_, client, make_gss_, cat("HTTP/", server.host));
  net::HttpTransport& door = proving ? static_cast<net::HttpTransport&>(*proving) : client;
  net::HttpRequest request;
  request.target = target;
  request.headers.add("accept", "text/plain");
  TM_CO_TRY(auto answer, co_await door.fetch(std::move(request), limit));
  if ((answer.status == 307 || answer.status == 302) && redirects > 0) {
    TM_CO_TRY(auto next, redirect_of(answer.headers.get("location")));
    co_return co_await ask(std::move(next.server), std::move(next.target), limit, redirects - 1);
  }
  if (answer.status == 200) co_return std::move(answer.body);
  const ErrorKind kind = answer.status == 404                           ? ErrorKind::kNotFound
                         : answer.status == 401 || answer.status == 403 ? ErrorKind::kDenied
                                                                        : ErrorKind::kUnavailable;
  co_return fail(kind, "the server of logs at ", server.host, ":", server.port, " answered ", answer.status, " ",
                 base::in_quotes(base::trim(std::string_view(answer.body).substr(0, kLogShownMax)), kLogShownMax));
}

net::Task<Result<ContainerLogs::Bytes>> ContainerLogs::read(std::string log_page, std::string file, std::int64_t from,
                                                            std::int64_t bytes_max, base::Duration limit) {
  TM_CO_TRY(const auto place, container_place(log_page));
  const std::string files = cat("/containers/", place.container, "/logs/");
  auto found = co_await read_at(place.node, cat("/ws/v1/node", files), file, from, bytes_max, limit);
  if (found || log_server_.empty()) co_return found;
  const bool gone = found.error().kind == ErrorKind::kNotFound || found.error().kind == ErrorKind::kUnavailable;
  const auto server = net::parse_url(log_server_);
  if (!gone || !server) co_return found;
  co_return co_await read_at(*server, files, file, from, bytes_max, limit);
}

net::Task<Result<ContainerLogs::Bytes>> ContainerLogs::read_at(net::Url server, std::string files, std::string file,
                                                               std::int64_t from, std::int64_t bytes_max,
                                                               base::Duration limit) {
  std::string target = cat(files, net::percent_encode(file), "?");
  if (!user_.empty() && !make_gss_) target += cat("user.name=", net::percent_encode(user_), "&");
  // These servers take a number of bytes from the begin, or from the end (negative), and no offset.
  TM_CO_TRY(const std::string head, co_await ask(server, cat(target, "size=1"), limit, kRedirectsMax));
  const auto first = container_file(head, 1);
  if (!first)
    co_return fail(ErrorKind::kInvalid, "the server of logs answered no log: ", base::in_quotes(head, kLogShownMax));
  if (first->length <= from) co_return Bytes{};
  const std::int64_t asked = from == 0 ? bytes_max : std::min(first->length - from + kGrowthMax, first->length);
  TM_CO_TRY(const std::string answer,
            co_await ask(server, cat(target, "size=", from == 0 ? asked : -asked), limit, kRedirectsMax));
  const auto found = container_file(answer, asked);
  if (!found) co_return fail(ErrorKind::kInvalid, "the server of logs answered a part of a log");
  if (from == 0) co_return Bytes{std::string(found->text), found->length > asked};
  const std::int64_t begin = found->length - static_cast<std::int64_t>(found->text.size());
  if (begin > from) co_return fail(ErrorKind::kUnavailable, "the log grows too fast to read on from byte ", from);
  co_return Bytes{std::string(found->text.substr(static_cast<std::size_t>(from - begin))), false};
}

}  // namespace tidemark::hadoop
