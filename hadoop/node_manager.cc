#include "hadoop/node_manager.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::hadoop {
namespace {

using base::JsonReader;

constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kShownBytesMax = 200;  // of what a NodeManager answered in place of a list

constexpr int kUnauthorizedCode = 401, kForbidden = 403;

constexpr std::array<std::string_view, 7> kEnded = {
    "KILLING",
    "DONE",
    "LOCALIZATION_FAILED",
    "CONTAINER_RESOURCES_CLEANINGUP",
    "CONTAINER_CLEANEDUP_AFTER_KILL",
    "EXITED_WITH_FAILURE",
    "EXITED_WITH_SUCCESS",
};

void read_name(JsonReader& json, std::string& out) {
  json.string(out);
  if (json.ok() && out.size() > kNameBytesMax) json.fail_here("a name that is longer than YARN makes them");
}

void read_amount(JsonReader& json, std::int64_t& out) {
  json.integer(out);
  if (json.ok() && out < 0) json.fail_here("an amount below zero");
}

void read_exit_code(JsonReader& json, std::int32_t& out) {
  std::int64_t code = 0;
  if (!json.integer(code)) return;
  using Limits = std::numeric_limits<std::int32_t>;
  if (code < Limits::min() || code > Limits::max()) return json.fail_here("an exit code of more than 32 bits");
  out = static_cast<std::int32_t>(code);
}

void read(JsonReader& json, NodeContainer& out) {
  json.object([&](std::string_view key) {
    if (key == "id") {
      read_name(json, out.id);
    } else if (key == "state") {
      read_name(json, out.state);
    } else if (key == "user") {
      read_name(json, out.user);
    } else if (key == "exitCode") {
      read_exit_code(json, out.exit_code);
    } else if (key == "totalMemoryNeededMB") {
      read_amount(json, out.memory_mib);
    } else if (key == "totalVCoresNeeded") {
      read_amount(json, out.vcores);
    } else if (key == "diagnostics") {
      json.string(out.diagnostics);
      if (out.diagnostics.size() > kDiagnosticsBytesMax) out.diagnostics.resize(kDiagnosticsBytesMax);
    } else {
      json.skip();
    }
  });
}

void read_one(JsonReader& json, NodeContainers& out, std::size_t at) {
  std::string_view raw;
  if (!json.raw(raw)) return;
  if (at == kNodeContainersMax) return json.fail_here("more containers than a node can have");
  JsonReader one(raw);
  NodeContainer container;
  read(one, container);
  auto end = one.finish();
  if (end && container.id.empty()) end = fail(ErrorKind::kInvalid, "it has no id");
  if (end) {
    out.containers.push_back(std::move(container));
  } else {
    const std::string place = container.id.empty() ? base::cat("the container at ", at) : container.id;
    out.refused.push_back(std::move(end).error().within(place));
  }
}

Error not_listed(const net::HttpResponse& answer) {
  std::string said = base::cat("the NodeManager's containers: it answered ", answer.status, " ",
                               base::in_quotes(base::trim(std::string_view(answer.body).substr(0, kShownBytesMax))));
  if (answer.status == kUnauthorizedCode &&
      base::trim(answer.headers.get("www-authenticate")).starts_with("Negotiate")) {
    said +=
        ": its web address requires Kerberos (SPNEGO), which needs a core-site.xml with "
        "hadoop.security.authentication kerberos";
  }
  return {ErrorKind::kUnavailable, std::move(said), answer.status, 0};
}

}  // namespace

bool has_ended(std::string_view state) {
  return std::ranges::find(kEnded, state) != kEnded.end();
}

bool is_shut_out(const Error& error) {
  return error.code == kUnauthorizedCode || error.code == kForbidden;
}

bool waits_to_begin(std::string_view state) {
  return state == "NEW" || state == "LOCALIZING" || state == "SCHEDULED";
}

Result<NodeContainers> parse_node_containers(std::string_view json_text) {
  NodeContainers out;
  JsonReader json(json_text);
  bool told = false;
  json.object([&](std::string_view key) {
    if (key != "containers") {
      json.skip();
      return;
    }
    told = true;
    json.object([&](std::string_view inner) {  // null counts as an empty one
      if (inner != "container") {
        json.skip();
      } else if (json.peek() == JsonReader::Type::kObject) {  // how some versions write a list of one
        read_one(json, out, 0);
      } else {
        std::size_t at = 0;
        json.array([&] { read_one(json, out, at++); });
      }
    });
  });
  if (auto end = json.finish(); !end) return fail(std::move(end).error().within("a NodeManager's containers"));
  if (!told) return fail(ErrorKind::kInvalid, "a NodeManager's containers: the answer names none");
  std::ranges::sort(out.containers, {}, &NodeContainer::id);
  return out;
}

net::Task<Result<NodeContainers>> NodeManager::containers(base::Duration limit) {
  net::HttpRequest request;
  request.target = "/ws/v1/node/containers";
  request.headers.add("accept", "application/json");
  auto answer = co_await transport_.fetch(std::move(request), limit);
  if (!answer) {
    Error error = std::move(answer).error().within("the NodeManager's containers");
    if (error.kind == ErrorKind::kDenied)
      error = {ErrorKind::kUnavailable, std::move(error.message), kUnauthorizedCode, 0};
    co_return fail(std::move(error));
  }
  if (answer->status != 200) co_return fail(not_listed(*answer));
  co_return parse_node_containers(answer->body);
}

}  // namespace tidemark::hadoop
