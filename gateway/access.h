// Who may use the gateway, and under which rules: users with their tokens and principals, quotas of businesses, and
// properties that the operator sets for businesses and classes. Pure.
//
//   schema: 1
//   users:
//   - name: ann
//     business: ads
//     tokenSha256: [5e88…]            # SHA-256 of each token, in hexadecimal
//     principals: [ann@EXAMPLE.COM]   # Kerberos
//     admin: false
//   businesses:
//   - name: ads
//     quota: {running: 20, queued: 100, cores: 400}
//     defaults: {spark.executor.memory: 4g}
//     fixed: {spark.yarn.queue: ads}
//   classes:
//   - name: spark
//     defaults: {spark.task.maxFailures: "8"}
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gateway/job.h"
#include "policy/route/quota.h"

namespace tidemark::gateway {

struct Caller {
  std::string user;
  std::string business;
  bool admin = false;
  bool operator==(const Caller&) const = default;
};

class AccessRules {
 public:
  // Errors name the place. The whole file is refused if a part is wrong.
  static Result<AccessRules> parse(std::string_view yaml);

  // nullopt: unknown. The time of a search does not depend on the token.
  std::optional<Caller> by_token(std::string_view token) const;
  std::optional<Caller> by_principal(std::string_view principal) const;
  std::optional<Caller> by_name(std::string_view user) const;
  policy::route::Quota quota_of(std::string_view business) const;

  // Precedence: fixed of the business, fixed of the class, the job, defaults of the business, defaults of the class.
  void apply(SparkJob& job) const;

 private:
  using Conf = std::map<std::string, std::string>;
  struct User {
    Caller caller;
    std::vector<std::string> token_hashes;  // 32 bytes each
    std::vector<std::string> principals;
  };
  struct Rules {
    policy::route::Quota quota;
    Conf defaults;
    Conf fixed;
  };
  static Result<User> user_of(const std::string& place, const Json& json);
  static Result<Rules> rules_of(const std::string& place, const Json& json, bool has_quota);

  std::vector<User> users_;
  std::map<std::string, Rules, std::less<>> businesses_;
  std::map<std::string, Rules, std::less<>> classes_;
};

}  // namespace tidemark::gateway
