#include "manager/webhook/admission_review.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace tidemark::manager {
namespace {

constexpr std::string_view kApiVersion = "admission.k8s.io/v1";
constexpr std::string_view kKind = "AdmissionReview";
constexpr std::size_t kUidBytesMax = 128;
// What the API server adds to who shows a token of a pod that has a node, or of a node
// (ServiceAccountTokenPodNodeInfo).
constexpr std::string_view kNodeClaim = "authentication.kubernetes.io/node-name";

constexpr std::array<std::pair<std::string_view, AdmissionOperation>, 4> kOperations{
    {{"CREATE", AdmissionOperation::kCreate},
     {"UPDATE", AdmissionOperation::kUpdate},
     {"DELETE", AdmissionOperation::kDelete},
     {"CONNECT", AdmissionOperation::kConnect}}};

// At a boundary of characters, so that what is sent stays UTF-8.
std::string cut(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max - 4;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + " …";
}

// The node of the token; "" if it has none or several.
std::string claimed_node(const Json& request) {
  const Json* nodes = request.at("userInfo", "extra", kNodeClaim);
  if (nodes == nullptr || !nodes->is_array() || nodes->as_array().size() != 1) return "";
  return std::string(nodes->as_array()[0].get_string().value_or(""));
}

Result<void> read_object(Json& request, std::string_view key, Json& out) {
  Json* found = request.as_object().find(key);
  if (found == nullptr || found->is_null()) return {};
  if (!found->is_object()) return fail(ErrorKind::kInvalid, "request.", key, ": wanted an object");
  out = std::move(*found);
  return {};
}

}  // namespace

std::size_t review_values(std::string_view body) {
  std::size_t values = 1;
  bool in_text = false;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (in_text) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_text = false;
      }
    } else if (c == '"') {
      in_text = true;
    } else if (c == ',' || c == '[' || c == '{') {
      ++values;
    }
  }
  return values;
}

Result<AdmissionRequest> decode_review(std::string_view body) {
  if (const std::size_t values = review_values(body); values > kReviewValuesMax) {
    return fail(Error{ErrorKind::kExhausted,
                      base::cat("up to ", values, " values, at most ", kReviewValuesMax, " are looked at"), 413, 0});
  }
  auto parsed = Json::parse(body);
  if (!parsed) return fail(std::move(parsed).error());
  if (!parsed->is_object()) return fail(ErrorKind::kInvalid, "wanted an object");
  if (parsed->text_at("kind") != kKind || parsed->text_at("apiVersion") != kApiVersion) {
    return fail(ErrorKind::kInvalid, "wanted an ", kKind, " of ", kApiVersion, ", found ",
                base::in_quotes(parsed->text_at("kind")), " of ", base::in_quotes(parsed->text_at("apiVersion")));
  }
  Json* request = parsed->as_object().find("request");
  if (request == nullptr || !request->is_object()) return fail(ErrorKind::kInvalid, "request: wanted an object");
  AdmissionRequest out;
  out.uid = request->text_at("uid");
  if (out.uid.empty() || out.uid.size() > kUidBytesMax) {
    return fail(ErrorKind::kInvalid, "request.uid: wanted 1 to ", kUidBytesMax, " bytes");
  }
  const std::string_view operation = request->text_at("operation");
  const auto known =
      std::find_if(kOperations.begin(), kOperations.end(), [&](const auto& each) { return each.first == operation; });
  if (known == kOperations.end()) {
    return fail(ErrorKind::kInvalid, "request.operation: wanted CREATE, UPDATE, DELETE or CONNECT, found ",
                base::in_quotes(operation));
  }
  out.operation = known->second;
  out.group = request->text_at("resource", "group");
  out.resource = request->text_at("resource", "resource");
  out.subresource = request->text_at("subResource");
  out.ns = request->text_at("namespace");
  out.name = request->text_at("name");
  out.user = request->text_at("userInfo", "username");
  out.user_node = claimed_node(*request);
  const Json* dry_run = request->member("dryRun");
  out.dry_run = dry_run != nullptr && dry_run->is_bool() && dry_run->as_bool();
  TM_TRY_VOID(read_object(*request, "object", out.object));
  TM_TRY_VOID(read_object(*request, "oldObject", out.old_object));
  return out;
}

std::string encode_review(std::string_view uid, const AdmissionAnswer& answer) {
  Json response = Json::object({{"uid", Json(uid)}, {"allowed", answer.allowed}});
  if (answer.allowed && answer.patch.is_array() && !answer.patch.as_array().empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = Json(base::base64_encode(answer.patch.dump()));
  }
  if (!answer.allowed) {
    Json status = Json::object({{"status", "Failure"}, {"code", Json(std::int64_t{answer.code})}});
    if (!answer.reason.empty()) status["reason"] = Json(answer.reason);
    status["message"] = Json(cut(answer.message, kMessageBytesMax));
    if (!answer.causes.empty()) {
      Json::Array causes;
      for (const AdmissionCause& cause : answer.causes) {
        if (causes.size() == kCausesMax) break;
        causes.push_back(Json::object({{"reason", Json(cause.reason)},
                                       {"field", Json(cut(cause.field, kWarningBytesMax))},
                                       {"message", Json(cut(cause.message, kWarningBytesMax))}}));
      }
      status["details"] = Json::object({{"causes", Json(std::move(causes))}});
    }
    response["status"] = std::move(status);
  }
  if (!answer.warnings.empty()) {
    Json::Array warnings;
    for (const auto& warning : answer.warnings) {
      if (warnings.size() == kWarningsMax) break;
      warnings.emplace_back(cut(warning, kWarningBytesMax));
    }
    if (answer.warnings.size() > kWarningsMax) {
      warnings.back() = Json(base::cat("and ", answer.warnings.size() - kWarningsMax + 1, " more warnings"));
    }
    response["warnings"] = std::move(warnings);
  }
  return Json::object({{"apiVersion", Json(kApiVersion)}, {"kind", Json(kKind)}, {"response", std::move(response)}})
      .dump();
}

}  // namespace tidemark::manager
