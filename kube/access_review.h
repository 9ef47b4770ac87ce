// Whether the bearer of a token may use an interface of this process: a TokenReview says whose token it is, and a
// SubjectAccessReview whether that user may `get` a path. No user is configured here; RBAC decides.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"
#include "net/task.h"

namespace tidemark::kube {

class AccessReview {
 public:
  static constexpr base::Duration kLife = std::chrono::minutes(1);          // of an answer
  static constexpr base::Duration kRefusalLife = std::chrono::seconds(10);  // of a refusal
  static constexpr base::Duration kRemembered = std::chrono::hours(1);      // of a good token: not counted as new again
  static constexpr std::size_t kKept = 64;                                  // answers
  static constexpr std::size_t kNewAMinute = 30;  // tokens, so that they cannot flood the API server

  // `writer` creates the reviews and is not audited: an audit line would have the token. `path` is a nonResourceURL.
  AccessReview(net::EventLoop& loop, Writer& writer, std::string audience, std::string path);

  // kDenied with code 401: no token, or not a valid one of the audience; with code 403: the user has not the right.
  // kExhausted: too many new tokens within a minute.
  net::Task<Result<void>> check(std::string token);

 private:
  struct Known {
    Result<void> verdict;
    base::MonotonicTime at;
  };
  net::Task<Result<void>> review(std::string token);

  net::EventLoop& loop_;
  Writer& writer_;
  std::string audience_, path_;
  std::map<std::string, Known> known_;  // by the hash of the token
  base::MonotonicTime minute_;          // in which `new_` were counted
  std::size_t new_ = 0;
};

}  // namespace tidemark::kube
