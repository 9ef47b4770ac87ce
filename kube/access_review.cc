#include "kube/access_review.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "net/seal.h"

namespace tidemark::kube {
namespace {

constexpr base::Duration kReviewLimit = std::chrono::seconds(10);
constexpr base::Duration kMinute = std::chrono::minutes(1);

std::unexpected<Error> denied(int code, std::string message) {
  return std::unexpected(Error{ErrorKind::kDenied, std::move(message), code, 0});
}

bool has(const Json* list, std::string_view wanted) {
  return list != nullptr && list->is_array() &&
         std::ranges::any_of(list->as_array(), [&](const Json& each) { return each.get_string() == wanted; });
}

}  // namespace

AccessReview::AccessReview(net::EventLoop& loop, Writer& writer, std::string audience, std::string path)
    : loop_(loop), writer_(writer), audience_(std::move(audience)), path_(std::move(path)) {}

net::Task<Result<void>> AccessReview::check(std::string token) {
  if (token.empty()) co_return denied(401, base::cat("a token of audience ", audience_, " is needed"));
  const base::MonotonicTime now = loop_.clock().monotonic();
  const auto life = [](const Known& known) { return known.verdict ? kLife : kRefusalLife; };
  std::erase_if(known_, [&](const auto& each) {
    return now - each.second.at >= (each.second.verdict ? kRemembered : kRefusalLife);
  });
  std::string hash = net::sha256(token);
  const auto found = known_.find(hash);
  if (found != known_.end() && now - found->second.at < life(found->second)) co_return found->second.verdict;
  if (now - minute_ >= kMinute) {
    minute_ = now;
    new_ = 0;
  }
  if (found == known_.end() && ++new_ > kNewAMinute) {
    co_return fail(ErrorKind::kExhausted, "too many tokens within a minute; try again later");
  }
  auto verdict = co_await review(std::move(token));
  // A failure of the review itself is of the moment.
  if (known_.size() < kKept && (verdict || verdict.error().code == 401 || verdict.error().code == 403)) {
    known_.insert_or_assign(std::move(hash), Known{verdict, now});
  }
  co_return verdict;
}

net::Task<Result<void>> AccessReview::review(std::string token) {
  const auto create = [this](const Resource& resource, Json spec) {
    const Json body = Json::object({{"apiVersion", base::cat(resource.group, "/", resource.version)},
                                    {"kind", resource.kind},
                                    {"spec", std::move(spec)}});
    return writer_.create(resource, body.dump(), {}, "", kReviewLimit);
  };
  const auto failed = [](Error error, std::string_view what) {
    error = std::move(error).within(what);
    error.kind = ErrorKind::kUnavailable;
    error.code = 0;  // it is about the right of this process, not of the bearer
    return std::unexpected(std::move(error));
  };
  auto reviewed = co_await create(
      kTokenReviews, Json::object({{"token", Json(std::move(token))}, {"audiences", Json::array({Json(audience_)})}}));
  if (!reviewed) co_return failed(std::move(reviewed).error(), "reviewing the token");
  TM_CO_TRY(const Json answer, Json::parse(*reviewed));
  const Json* good = answer.at("status", "authenticated");
  const std::string user(answer.text_at("status", "user", "username"));
  // An API server that knows no audiences names none.
  if (good == nullptr || !good->get_bool().value_or(false) || user.empty() ||
      !has(answer.at("status", "audiences"), audience_)) {
    co_return denied(401, base::cat("the API server does not accept this token for audience ", audience_));
  }
  Json spec = Json::object(
      {{"user", Json(user)}, {"nonResourceAttributes", Json::object({{"path", Json(path_)}, {"verb", "get"}})}});
  if (const Json* groups = answer.at("status", "user", "groups")) spec["groups"] = *groups;
  auto allowed = co_await create(kSubjectAccessReviews, std::move(spec));
  if (!allowed) co_return failed(std::move(allowed).error(), "reviewing the right of the token");
  TM_CO_TRY(const Json right, Json::parse(*allowed));
  const Json* may = right.at("status", "allowed");
  if (may == nullptr || !may->get_bool().value_or(false)) {
    co_return denied(403, base::cat(user, " may not get ", path_));
  }
  co_return Result<void>();
}

}  // namespace tidemark::kube
