#include "gateway/access.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/yaml.h"
#include "net/seal.h"

namespace tidemark::gateway {
namespace {

using base::cat;

constexpr std::int64_t kAccessSchema = 1;
constexpr std::size_t kAccessNameMax = 63;  // of a label of Kubernetes
constexpr std::size_t kHashDigits = 64;
constexpr std::int64_t kQuotaMax = 1'000'000;

std::unexpected<Error> unknown_key(std::string_view place, std::string_view key) {
  return fail(ErrorKind::kInvalid, place, ": unknown key ", base::in_quotes(key));
}

// A name that is fit for a label of Kubernetes and a tag of YARN.
Result<std::string> name_in(const std::string& place, const Json& value) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  };
  const auto letter = [&](char c) { return plain(c) && c != '-' && c != '.' && c != '_'; };
  std::string text(value.get_string().value_or(""));
  if (text.empty() || text.size() > kAccessNameMax || !std::ranges::all_of(text, plain) || !letter(text.front()) ||
      !letter(text.back())) {
    return fail(ErrorKind::kInvalid, place, ": a name of at most ", kAccessNameMax,
                " letters, digits, -, . and _ is expected, found ", value.dump());
  }
  return text;
}

Result<std::vector<std::string>> texts_in(const std::string& place, const Json& value) {
  if (!value.is_array()) return fail(ErrorKind::kInvalid, place, ": a list is expected, found ", value.dump());
  std::vector<std::string> out;
  for (const Json& each : value.as_array()) {
    const auto text = each.get_string();
    if (!text || text->empty()) return fail(ErrorKind::kInvalid, place, ": a text is expected, found ", each.dump());
    out.emplace_back(*text);
  }
  return out;
}

// Not shown in errors: an operator may have put a token here.
Result<std::string> hash_in(const std::string& place, std::string_view text) {
  const std::string lower = base::lower(text);
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (lower.size() != kHashDigits || !std::ranges::all_of(lower, digit)) {
    return fail(ErrorKind::kInvalid, place, ": the SHA-256 of a token, as ", kHashDigits,
                " hexadecimal digits, is expected; make it by: printf %s TOKEN | sha256sum");
  }
  const auto half = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t at = 0; at < lower.size(); at += 2) {
    out.push_back(static_cast<char>(half(lower[at]) * 16 + half(lower[at + 1])));
  }
  return out;
}

Result<policy::route::Quota> quota_in(const std::string& place, const Json& value) {
  if (!value.is_object()) return fail(ErrorKind::kInvalid, place, ": an object is expected, found ", value.dump());
  policy::route::Quota out;
  for (const auto& [key, number] : value.as_object()) {
    auto* limit = key == "running"  ? &out.running
                  : key == "queued" ? &out.queued
                  : key == "cores"  ? &out.cores
                                    : nullptr;
    if (limit == nullptr) return unknown_key(place, key);
    *limit = number.get_int();
    if (!*limit || **limit < 0 || **limit > kQuotaMax) {
      return fail(ErrorKind::kInvalid, place, ".", key, ": a number from 0 to ", kQuotaMax, " is expected, found ",
                  number.dump());
    }
  }
  return out;
}

Result<std::map<std::string, std::string>> conf_in(const std::string& place, const Json& value) {
  if (!value.is_object()) return fail(ErrorKind::kInvalid, place, ": an object is expected, found ", value.dump());
  std::map<std::string, std::string> out;
  for (const auto& [key, setting] : value.as_object()) {
    if (!key.starts_with("spark.")) {
      return fail(ErrorKind::kInvalid, place, ": a property that starts with spark. is expected, found ",
                  base::in_quotes(key));
    }
    if (key == kBusinessConf || key == kClassConf) {
      return fail(ErrorKind::kInvalid, place, ": ", key, " cannot be set here");
    }
    out[key] = setting.is_string() ? setting.as_string() : setting.dump();
  }
  return out;
}

// The elements of a list at the top, with their places.
Result<std::vector<std::pair<std::string, const Json*>>> list_in(std::string_view key, const Json& value) {
  if (!value.is_array()) return fail(ErrorKind::kInvalid, key, ": a list is expected, found ", value.dump());
  std::vector<std::pair<std::string, const Json*>> out;
  for (const Json& each : value.as_array()) {
    const std::string place = cat(key, "[", out.size(), "]");
    if (!each.is_object()) return fail(ErrorKind::kInvalid, place, ": an object is expected");
    out.emplace_back(place, &each);
  }
  return out;
}

}  // namespace

Result<AccessRules::User> AccessRules::user_of(const std::string& place, const Json& json) {
  User out;
  for (const auto& [key, value] : json.as_object()) {
    const std::string inside = cat(place, ".", key);
    if (key == "name") {
      TM_TRY(out.caller.user, name_in(inside, value));
    } else if (key == "business") {
      TM_TRY(out.caller.business, name_in(inside, value));
    } else if (key == "admin") {
      if (!value.is_bool()) return fail(ErrorKind::kInvalid, inside, ": true or false is expected");
      out.caller.admin = value.as_bool();
    } else if (key == "tokenSha256") {
      TM_TRY(const auto texts, texts_in(inside, value));
      for (const auto& text : texts) {
        TM_TRY(out.token_hashes.emplace_back(), hash_in(inside, text));
      }
    } else if (key == "principals") {
      TM_TRY(out.principals, texts_in(inside, value));
    } else {
      return unknown_key(place, key);
    }
  }
  if (out.caller.user.empty()) return fail(ErrorKind::kInvalid, place, ".name is required");
  if (out.caller.business.empty()) return fail(ErrorKind::kInvalid, place, ".business is required");
  return out;
}

Result<AccessRules::Rules> AccessRules::rules_of(const std::string& place, const Json& json, bool has_quota) {
  Rules out;
  for (const auto& [key, value] : json.as_object()) {
    const std::string inside = cat(place, ".", key);
    if (key == "name") continue;
    if (key == "quota" && has_quota) {
      TM_TRY(out.quota, quota_in(inside, value));
    } else if (key == "defaults") {
      TM_TRY(out.defaults, conf_in(inside, value));
    } else if (key == "fixed") {
      TM_TRY(out.fixed, conf_in(inside, value));
    } else {
      return unknown_key(place, key);
    }
  }
  return out;
}

Result<AccessRules> AccessRules::parse(std::string_view yaml) {
  TM_TRY(const Json json, base::parse_yaml(yaml));
  if (!json.is_object()) return fail(ErrorKind::kInvalid, "an object is expected");
  const Json* schema = json.at("schema");
  if (schema == nullptr || schema->get_int() != kAccessSchema) {
    return fail(ErrorKind::kUnsupported, "schema: ", kAccessSchema, " is expected, found ",
                schema == nullptr ? "none" : schema->dump());
  }
  AccessRules out;
  for (const auto& [key, value] : json.as_object()) {
    if (key == "schema") continue;
    if (key != "users" && key != "businesses" && key != "classes") return unknown_key("top level", key);
    TM_TRY(const auto elements, list_in(key, value));
    for (const auto& [place, element] : elements) {
      if (key == "users") {
        TM_TRY(auto user, user_of(place, *element));
        if (out.by_name(user.caller.user)) {
          return fail(ErrorKind::kInvalid, place, ": user ", user.caller.user, " is given twice");
        }
        out.users_.push_back(std::move(user));
        continue;
      }
      const Json* named = element->at("name");
      TM_TRY(const std::string name, name_in(cat(place, ".name"), named == nullptr ? Json() : *named));
      TM_TRY(auto rules, rules_of(place, *element, key == "businesses"));
      auto& all = key == "businesses" ? out.businesses_ : out.classes_;
      if (!all.emplace(name, std::move(rules)).second) {
        return fail(ErrorKind::kInvalid, place, ": ", name, " is given twice");
      }
    }
  }
  for (const User& user : out.users_) {
    if (out.businesses_.contains(user.caller.business)) continue;
    return fail(ErrorKind::kInvalid, "user ", user.caller.user, ": business ", user.caller.business,
                " is not in businesses");
  }
  return out;
}

std::optional<Caller> AccessRules::by_token(std::string_view token) const {
  const std::string hash = net::sha256(token);
  const User* found = nullptr;
  for (const User& user : users_) {
    for (const std::string& each : user.token_hashes) {
      if (net::equal_in_constant_time(each, hash)) found = &user;
    }
  }
  if (found == nullptr) return std::nullopt;
  return found->caller;
}

std::optional<Caller> AccessRules::by_principal(std::string_view principal) const {
  for (const User& user : users_) {
    if (std::ranges::find(user.principals, principal) != user.principals.end()) return user.caller;
  }
  return std::nullopt;
}

std::optional<Caller> AccessRules::by_name(std::string_view user) const {
  const auto at = std::ranges::find(users_, user, [](const User& each) { return std::string_view(each.caller.user); });
  if (at == users_.end()) return std::nullopt;
  return at->caller;
}

policy::route::Quota AccessRules::quota_of(std::string_view business) const {
  const auto at = businesses_.find(business);
  return at == businesses_.end() ? policy::route::Quota{} : at->second.quota;
}

void AccessRules::apply(SparkJob& job) const {
  const auto business = businesses_.find(job.conf_or(kBusinessConf, ""));
  const auto job_class = classes_.find(job.conf_or(kClassConf, kDefaultClass));
  if (business != businesses_.end())
    job.conf.insert(business->second.defaults.begin(), business->second.defaults.end());
  if (job_class != classes_.end()) {
    job.conf.insert(job_class->second.defaults.begin(), job_class->second.defaults.end());
    for (const auto& [key, value] : job_class->second.fixed) job.conf[key] = value;
  }
  if (business == businesses_.end()) return;
  for (const auto& [key, value] : business->second.fixed) job.conf[key] = value;
}

}  // namespace tidemark::gateway
