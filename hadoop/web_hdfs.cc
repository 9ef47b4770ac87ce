#include "hadoop/web_hdfs.h"

#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "hadoop/yarn_site.h"
#include "net/address.h"

namespace tidemark::hadoop {
namespace {

using base::cat;

constexpr std::string_view kWebHdfs = "/webhdfs/v1";
constexpr std::string_view kHttpPort = "9870";  // dfs.namenode.http-address
constexpr std::size_t kShownMax = 500;          // bytes of an unexpected answer
constexpr std::uint16_t kRpcPort = 8020;        // of a file system without a port
constexpr std::string_view kRpcTokenKind = "HDFS_DELEGATION_TOKEN";

HdfsFile file_of(const Json& status) {
  HdfsFile out;
  out.name = status.text_at("pathSuffix");
  out.folder = status.text_at("type") == "DIRECTORY";
  if (const Json* length = status.at("length")) out.bytes = length->get_int().value_or(0);
  if (const Json* time = status.at("modificationTime")) out.modified_ms = time->get_int().value_or(0);
  return out;
}

std::string exception_of(const net::HttpResponse& answer) {
  const auto json = Json::parse(answer.body);
  return json ? std::string(json->text_at("RemoteException", "exception")) : "";
}

Error refused(std::string_view doing, const net::HttpResponse& answer) {
  const auto json = Json::parse(answer.body);
  const std::string_view told = json ? json->text_at("RemoteException", "message") : std::string_view();
  const std::string_view shown = told.empty() ? base::trim(std::string_view(answer.body).substr(0, kShownMax)) : told;
  const ErrorKind kind = answer.status == 404                           ? ErrorKind::kNotFound
                         : answer.status == 401 || answer.status == 403 ? ErrorKind::kDenied
                         : answer.status == 400                         ? ErrorKind::kInvalid
                                                                        : ErrorKind::kUnavailable;
  return {kind, cat(doing, ": HDFS answered ", answer.status, " ", base::in_quotes(shown, kShownMax)), answer.status,
          0};
}

// The path of a URL with each part escaped.
std::string escaped(std::string_view path) {
  std::string out;
  for (const auto part : base::split(path, '/')) {
    if (!part.empty()) out += cat("/", net::percent_encode(part));
  }
  return out;
}

std::string value_or(const std::map<std::string, std::string>& site, const std::string& key, std::string otherwise) {
  const auto at = site.find(key);
  if (at == site.end() || at->second.empty()) return otherwise;
  return at->second;
}

}  // namespace

Result<HdfsFile> parse_file_status(std::string_view text) {
  TM_TRY(const Json json, Json::parse(text));
  const Json* status = json.at("FileStatus");
  if (status == nullptr || !status->is_object()) return fail(ErrorKind::kInvalid, "HDFS: an answer without FileStatus");
  return file_of(*status);
}

Result<std::vector<HdfsFile>> parse_file_list(std::string_view text) {
  TM_TRY(const Json json, Json::parse(text));
  const Json* files = json.at("FileStatuses", "FileStatus");
  if (files == nullptr || !files->is_array()) return fail(ErrorKind::kInvalid, "HDFS: an answer without FileStatuses");
  std::vector<HdfsFile> out;
  for (const Json& each : files->as_array()) out.push_back(file_of(each));
  return out;
}

Result<std::vector<net::Url>> name_node_addresses(const std::map<std::string, std::string>& site,
                                                  std::string_view authority) {
  const bool tls = value_or(site, "dfs.http.policy", "HTTP_ONLY") == "HTTPS_ONLY";
  const std::string key = tls ? "dfs.namenode.https-address" : "dfs.namenode.http-address";
  const std::string_view scheme = tls ? "https" : "http";
  std::vector<std::string> addresses;
  const std::string name_nodes = value_or(site, cat("dfs.ha.namenodes.", authority), "");
  for (const auto id : base::split(name_nodes, ',')) {
    if (base::trim(id).empty()) continue;
    const std::string of = cat(key, ".", authority, ".", base::trim(id));
    addresses.push_back(value_or(site, of, ""));
    if (addresses.back().empty()) return fail(ErrorKind::kInvalid, of, " is not set");
  }
  if (addresses.empty()) {
    // The default host is 0.0.0.0, which stands for that of the file system.
    const std::string host(authority.substr(0, authority.rfind(':')));
    std::string address = value_or(site, key, cat(host, ":", kHttpPort));
    if (address.starts_with("0.0.0.0:")) address = cat(host, address.substr(7));
    addresses.push_back(std::move(address));
  }
  std::vector<net::Url> out;
  for (const auto& address : addresses) {
    TM_TRY(out.emplace_back(), net::parse_url(cat(scheme, "://", address)));
  }
  return out;
}

WebHdfs::WebHdfs(net::EventLoop& loop, net::WorkerPool* workers, const std::vector<net::Url>& name_nodes,
                 std::string user, MakeGss make_gss)
    : loop_(loop), workers_(workers), user_(std::move(user)) {
  for (const net::Url& url : name_nodes) {
    net::HttpClientConfig config;
    config.url = url;
    Member made;
    made.client = std::make_unique<net::HttpClient>(loop, workers, std::move(config));
    if (make_gss) {
      made.proving = std::make_unique<NegotiatingTransport>(loop, *made.client, make_gss, cat("HTTP/", url.host));
    }
    members_.push_back(std::move(made));
  }
}

net::Task<Result<net::HttpResponse>> WebHdfs::ask(std::string method, std::string path, std::string operation,
                                                  base::Duration limit) {
  if (members_.empty()) co_return fail(ErrorKind::kInvalid, "no NameNode has a web address");
  std::string target = cat(kWebHdfs, escaped(path), "?op=", operation);
  if (!user_.empty() && !members_[0].proving) target += cat("&user.name=", net::percent_encode(user_));
  std::optional<Error> last;
  for (std::size_t tried = 0; tried < members_.size(); ++tried) {
    const Member& member = members_[active_];
    net::HttpTransport& door = member.proving ? static_cast<net::HttpTransport&>(*member.proving) : *member.client;
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    auto answer = co_await door.fetch(std::move(request), limit);
    const bool standby = answer && answer->status == 403 && exception_of(*answer) == "StandbyException";
    if (answer && !standby && answer->status < 500) co_return std::move(*answer);
    last = answer ? refused(cat(method, " ", path), *answer) : std::move(answer).error();
    active_ = (active_ + 1) % members_.size();
  }
  co_return fail(std::move(*last));
}

net::Task<Result<net::HttpResponse>> WebHdfs::transfer(std::string method, std::string path, std::string operation,
                                                       std::string body, base::Duration limit) {
  TM_CO_TRY(const auto answer, co_await ask(method, path, std::move(operation), limit));
  if (answer.status != 307) co_return fail(refused(cat(method, " ", path), answer));
  const std::string place(answer.headers.get("location"));
  const auto begin = place.find("://");
  const auto slash = begin == std::string::npos ? begin : place.find('/', begin + 3);
  if (slash == std::string::npos) {
    co_return fail(ErrorKind::kInvalid, method, " ", path, ": HDFS names no DataNode: ", base::in_quotes(place));
  }
  TM_CO_TRY(auto url, net::parse_url(place.substr(0, slash)));
  net::HttpClientConfig config;
  config.url = std::move(url);
  net::HttpClient client(loop_, workers_, std::move(config));  // each file may be on another DataNode
  net::HttpRequest request;
  request.method = std::move(method);
  request.target = place.substr(slash);
  if (!body.empty()) request.headers.add("content-type", "application/octet-stream");
  request.body = std::move(body);
  co_return co_await client.fetch(std::move(request), limit);
}

net::Task<Result<void>> WebHdfs::create(std::string path, std::string bytes, base::Duration limit) {
  TM_CO_TRY(const auto answer, co_await transfer("PUT", path, "CREATE&overwrite=true", std::move(bytes), limit));
  if (answer.status != 201 && answer.status != 200) co_return fail(refused(cat("write ", path), answer));
  co_return Result<void>();
}

net::Task<Result<void>> WebHdfs::append(std::string path, std::string bytes, base::Duration limit) {
  TM_CO_TRY(const auto answer, co_await transfer("POST", path, "APPEND", std::move(bytes), limit));
  if (answer.status != 200) co_return fail(refused(cat("append to ", path), answer));
  co_return Result<void>();
}

net::Task<Result<std::string>> WebHdfs::read(std::string path, std::int64_t from, std::int64_t bytes,
                                             base::Duration limit) {
  TM_CO_TRY(auto answer, co_await transfer("GET", path, cat("OPEN&offset=", from, "&length=", bytes), "", limit));
  if (answer.status != 200) co_return fail(refused(cat("read ", path), answer));
  co_return std::move(answer.body);
}

net::Task<Result<HdfsFile>> WebHdfs::status(std::string path, base::Duration limit) {
  TM_CO_TRY(const auto answer, co_await ask("GET", path, "GETFILESTATUS", limit));
  if (answer.status != 200) co_return fail(refused(cat("read ", path), answer));
  co_return parse_file_status(answer.body);
}

net::Task<Result<std::vector<HdfsFile>>> WebHdfs::list(std::string path, base::Duration limit) {
  TM_CO_TRY(const auto answer, co_await ask("GET", path, "LISTSTATUS", limit));
  if (answer.status != 200) co_return fail(refused(cat("list ", path), answer));
  co_return parse_file_list(answer.body);
}

net::Task<Result<bool>> WebHdfs::rename(std::string from, std::string to, base::Duration limit) {
  TM_CO_TRY(const auto answer, co_await ask("PUT", from, cat("RENAME&destination=", net::percent_encode(to)), limit));
  if (answer.status != 200) co_return fail(refused(cat("rename ", from), answer));
  TM_CO_TRY(const Json json, Json::parse(answer.body));
  const Json* done = json.at("boolean");
  co_return done != nullptr && done->is_bool() && done->as_bool();
}

net::Task<Result<void>> WebHdfs::remove(std::string path, base::Duration limit) {
  TM_CO_TRY(const auto answer, co_await ask("DELETE", path, "DELETE&recursive=true", limit));
  if (answer.status != 200) co_return fail(refused(cat("remove ", path), answer));
  co_return Result<void>();
}

net::Task<Result<DelegationToken>> WebHdfs::delegation_token(std::string renewer, base::Duration limit) {
  TM_CO_TRY(const auto answer,
            co_await ask("GET", "/", cat("GETDELEGATIONTOKEN&renewer=", net::percent_encode(renewer)), limit));
  if (answer.status != 200) co_return fail(refused("get a delegation token", answer));
  TM_CO_TRY(const Json json, Json::parse(answer.body));
  TM_CO_TRY(DelegationToken token, parse_delegation_token(json.text_at("Token", "urlString")));
  token.kind = kRpcTokenKind;  // WebHDFS gives the same token another kind
  token.service.clear();
  co_return token;
}

net::Task<Result<void>> WebHdfs::touch(std::string path, std::int64_t modified_ms, base::Duration limit) {
  TM_CO_TRY(const auto answer,
            co_await ask("PUT", path, cat("SETTIMES&modificationtime=", modified_ms, "&accesstime=-1"), limit));
  if (answer.status != 200) co_return fail(refused(cat("touch ", path), answer));
  co_return Result<void>();
}

Result<HdfsPlace> open_hdfs(net::EventLoop& loop, const HdfsAccess& access, std::string_view url) {
  constexpr std::string_view kScheme = "hdfs://";
  if (!url.starts_with(kScheme)) return fail(ErrorKind::kInvalid, base::in_quotes(url), ": use hdfs://HOST:PORT/PATH");
  std::string whole(url);
  if (whole.starts_with("hdfs:///")) {
    std::string file_system = value_or(access.site, "fs.defaultFS", "");
    if (!file_system.starts_with(kScheme)) {
      return fail(ErrorKind::kInvalid, base::in_quotes(url), ": fs.defaultFS of core-site.xml is no HDFS");
    }
    while (file_system.ends_with('/')) file_system.pop_back();
    whole = file_system + whole.substr(kScheme.size());
  }
  const auto slash = whole.find('/', kScheme.size());
  if (slash == std::string::npos) return fail(ErrorKind::kInvalid, base::in_quotes(url), ": a path is missing");
  const std::string_view authority = std::string_view(whole).substr(kScheme.size(), slash - kScheme.size());
  TM_TRY(const auto addresses, name_node_addresses(access.site, authority));
  return HdfsPlace{WebHdfs(loop, access.workers, addresses, access.user, access.make_gss), whole.substr(0, slash),
                   whole.substr(slash)};
}

net::Task<Result<std::string>> token_service(net::EventLoop& loop, HdfsAccess access, std::string authority,
                                             base::Duration limit) {
  if (access.site.contains(cat("dfs.ha.namenodes.", authority))) co_return cat("ha-hdfs:", authority);
  TM_CO_TRY(const Address address, parse_address(authority, kRpcPort));
  std::string host = base::lower(address.host);
  if (value_or(access.site, "hadoop.security.token.service.use_ip", "true") == "true") {
    TM_CO_TRY(const auto found, co_await net::resolve(loop, access.workers, address.host, address.port, limit));
    if (found.empty()) co_return fail(ErrorKind::kUnavailable, "no address of ", address.host);
    host = found.front().ip();
  }
  co_return cat(host, ":", address.port);
}

}  // namespace tidemark::hadoop
