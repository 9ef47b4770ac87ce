#include "gateway/s3_archive.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "net/authority.h"
#include "net/http_client.h"
#include "net/seal.h"

namespace tidemark::gateway {
namespace {

using base::cat;

constexpr base::Duration kS3Limit = std::chrono::minutes(2);
constexpr std::size_t kShownMax = 500;  // bytes of an unexpected answer
constexpr std::size_t kDateDigits = 8;
constexpr std::string_view kDefaultRegion = "us-east-1";

std::string hex_sha256(std::string_view text) {
  return net::Sha256().add(text).hex();
}

// 20130524T000000Z
std::string time_text(base::WallTime now) {
  std::string out = base::format_rfc3339(now);
  std::erase_if(out, [](char each) { return each == '-' || each == ':'; });
  return out;
}

// Each part escaped, as S3 wants it: once.
std::string escaped(std::string_view path) {
  std::vector<std::string> parts;
  for (const auto part : base::split(path, '/')) parts.push_back(net::percent_encode(part));
  return base::join(parts, "/");
}

std::string_view element(std::string_view xml, std::string_view name) {
  const std::string open = cat("<", name, ">");
  const auto begin = xml.find(open);
  const auto end = xml.find(cat("</", name, ">"));
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "";
  return xml.substr(begin + open.size(), end - begin - open.size());
}

std::string_view remedy_of(std::string_view code) {
  if (code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch" || code == "ExpiredToken") {
    return "; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the credentials file";
  }
  if (code == "AccessDenied") return "; the keys need s3:PutObject and s3:GetObject for it";
  if (code == "AuthorizationHeaderMalformed" || code == "PermanentRedirect") return "; check AWS_REGION";
  if (code == "NoSuchBucket") return "; create it";
  return "";
}

class S3Archive final : public LogArchive {
 public:
  struct Place {
    std::string bucket;
    std::string prefix;  // of paths in the URL: /BUCKET/PATH/, or /PATH/
  };
  S3Archive(net::EventLoop& loop, net::WorkerPool* workers, S3Access access, net::Url url, Place place)
      : loop_(loop), access_(std::move(access)), url_(std::move(url)), place_(std::move(place)) {
    net::HttpClientConfig config;
    config.url = url_;
    client_ = std::make_unique<net::HttpClient>(loop, workers, std::move(config));
  }

  net::Task<Result<void>> put(std::string path, std::string bytes) override {
    TM_CO_TRY_VOID(co_await ask("PUT", std::move(path), std::move(bytes)));
    co_return Result<void>();
  }
  net::Task<Result<std::string>> read(std::string path, std::int64_t bytes_max) override {
    TM_CO_TRY(auto answer, co_await ask("GET", path, ""));
    if (std::cmp_greater(answer.body.size(), bytes_max)) {
      co_return fail(ErrorKind::kInvalid, path, " has more than ", bytes_max, " bytes");
    }
    co_return std::move(answer.body);
  }

 private:
  net::Task<Result<net::HttpResponse>> ask(std::string method, std::string path, std::string body) {
    net::HttpRequest request;
    request.method = std::move(method);
    request.target = cat(place_.prefix, escaped(path));
    request.body = std::move(body);
    const std::string doing = cat(request.method, " ", path, " in bucket ", place_.bucket, " at ", url_.host);
    auto keys = access_.keys();
    if (!keys) co_return fail(std::move(keys).error().within(doing));
    sign_s3(request, net::authority_of(url_), access_.region, *keys, loop_.clock().wall());
    auto answer = co_await client_->fetch(std::move(request), kS3Limit);
    if (!answer) co_return fail(std::move(answer).error().within(doing));
    if (answer->status == 200) co_return std::move(*answer);
    const std::string_view code = element(answer->body, "Code");
    const std::string_view said = element(answer->body, "Message");
    const ErrorKind kind = answer->status == 404                            ? ErrorKind::kNotFound
                           : answer->status == 401 || answer->status == 403 ? ErrorKind::kDenied
                                                                            : ErrorKind::kUnavailable;
    co_return fail(
        Error{kind,
              cat(doing, ": S3 answered ", answer->status, " ", code, code.empty() ? "" : " ",
                  base::in_quotes(code.empty() ? std::string_view(answer->body) : said, kShownMax), remedy_of(code)),
              answer->status, 0});
  }

  net::EventLoop& loop_;
  const S3Access access_;
  const net::Url url_;
  const Place place_;
  std::unique_ptr<net::HttpClient> client_;
};

}  // namespace

Result<S3Keys> s3_keys_in(std::string_view text, std::string_view profile) {
  std::map<std::string_view, std::string_view> found;
  bool ours = false;
  for (const auto each : base::split(text, '\n')) {
    const std::string_view line = base::trim(each);
    if (line.starts_with('#') || line.starts_with(';')) continue;
    if (line.starts_with('[')) {
      ours = line.ends_with(']') && base::trim(line.substr(1, line.size() - 2)) == profile;
      continue;
    }
    const auto sign = line.find('=');
    if (!ours || sign == std::string_view::npos) continue;
    found[base::trim(line.substr(0, sign))] = base::trim(line.substr(sign + 1));
  }
  S3Keys out{std::string(found["aws_access_key_id"]), std::string(found["aws_secret_access_key"]),
             std::string(found["aws_session_token"])};
  if (out.id.empty() || out.secret.empty()) {
    return fail(ErrorKind::kInvalid, "profile ", base::in_quotes(profile),
                " needs aws_access_key_id and aws_secret_access_key");
  }
  return out;
}

S3Access s3_access(const std::function<std::string(const std::string&)>& environment,
                   std::function<Result<std::string>(const std::string&)> read_file) {
  const auto first = [&](std::initializer_list<std::string> names) {
    for (const std::string& name : names) {
      if (std::string value = environment(name); !value.empty()) return value;
    }
    return std::string();
  };
  S3Access out;
  out.region = first({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (out.region.empty()) out.region = kDefaultRegion;
  out.endpoint = first({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  S3Keys own{environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"), environment("AWS_SESSION_TOKEN")};
  if (!own.id.empty() && !own.secret.empty()) {
    out.keys = [own = std::move(own)]() -> Result<S3Keys> { return own; };
    return out;
  }
  std::string path = environment("AWS_SHARED_CREDENTIALS_FILE");
  if (path.empty()) path = cat(environment("HOME"), "/.aws/credentials");
  std::string profile = environment("AWS_PROFILE");
  if (profile.empty()) profile = "default";
  out.keys = [path = std::move(path), profile = std::move(profile),
              read_file = std::move(read_file)]() -> Result<S3Keys> {
    const auto text = read_file(path);
    if (!text) {
      return fail(ErrorKind::kInvalid,
                  "no keys for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE (",
                  text.error().message, ")");
    }
    auto keys = s3_keys_in(*text, profile);
    if (!keys) return fail(std::move(keys).error().within(path));
    return keys;
  };
  return out;
}

void sign_s3(net::HttpRequest& request, std::string_view host, std::string_view region, const S3Keys& keys,
             base::WallTime now) {
  const std::string time = time_text(now);
  const std::string date = time.substr(0, kDateDigits);
  const std::string body_hash = hex_sha256(request.body);
  std::map<std::string, std::string> signed_headers = {
      {"host", std::string(host)}, {"x-amz-content-sha256", body_hash}, {"x-amz-date", time}};
  if (!keys.session.empty()) signed_headers["x-amz-security-token"] = keys.session;
  std::vector<std::string> names;
  std::string lines;
  for (const auto& [name, value] : signed_headers) {
    if (name != "host") request.headers.set(name, value);
    names.push_back(name);
    lines += cat(name, ":", value, "\n");
  }
  const std::string name_list = base::join(names, ";");
  const std::string canonical =
      cat(request.method, "\n", request.target, "\n\n", lines, "\n", name_list, "\n", body_hash);
  const std::string scope = cat(date, "/", region, "/s3/aws4_request");
  std::string key = cat("AWS4", keys.secret);
  for (const std::string_view part :
       {std::string_view(date), region, std::string_view("s3"), std::string_view("aws4_request")}) {
    key = net::hmac_sha256(key, part);
  }
  const std::string signature =
      net::hex(net::hmac_sha256(key, cat("AWS4-HMAC-SHA256\n", time, "\n", scope, "\n", hex_sha256(canonical))));
  request.headers.set("authorization", cat("AWS4-HMAC-SHA256 Credential=", keys.id, "/", scope,
                                           ", SignedHeaders=", name_list, ", Signature=", signature));
}

Result<std::unique_ptr<LogArchive>> open_s3_archive(net::EventLoop& loop, net::WorkerPool* workers, S3Access access,
                                                    std::string_view place) {
  std::string_view rest = place.substr(std::min(place.size(), kS3Scheme.size()));
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const auto slash = std::min(rest.find('/'), rest.size());
  S3Archive::Place in{std::string(rest.substr(0, slash)), cat(escaped(rest.substr(slash)), "/")};
  if (!place.starts_with(kS3Scheme) || in.bucket.empty()) {
    return fail(ErrorKind::kInvalid, base::in_quotes(place), ": use s3://BUCKET/PATH");
  }
  const std::string domain = cat("s3.", access.region, ".amazonaws.com", access.region.starts_with("cn-") ? ".cn" : "");
  const bool of_path = !access.endpoint.empty() || in.bucket.contains('.');
  std::string endpoint = access.endpoint;
  if (endpoint.empty()) endpoint = cat("https://", of_path ? "" : cat(in.bucket, "."), domain);
  auto url = net::parse_url(endpoint);
  if (!url) return fail(std::move(url).error().within("AWS_ENDPOINT_URL"));
  if (of_path) in.prefix = cat("/", in.bucket, in.prefix);
  in.prefix = url->path + in.prefix;
  url->path.clear();
  TM_TRY_VOID(access.keys());
  return std::make_unique<S3Archive>(loop, workers, std::move(access), *std::move(url), std::move(in));
}

}  // namespace tidemark::gateway
