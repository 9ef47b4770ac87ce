#include "console/task_end.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "console/guard.h"
#include "console/json_values.h"
#include "console/projections.h"
#include "kube/actions.h"
#include "kube/objects.h"

namespace tidemark::console {
namespace {

constexpr std::size_t kEndBytesMax = 16 * 1024;
constexpr std::size_t kNameBytesMax = 253;
// The API server retries for ten seconds itself.
constexpr base::Duration kAnswerLimit = std::chrono::seconds(15);

struct EndRequest {
  std::string ns, name;
  bool dry_run = false;
};

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameBytesMax && text.find('/') == std::string_view::npos;
}

// kInvalid; the message begins with the name of the field.
Result<EndRequest> parse_request(std::string_view body) {
  const auto json = Json::parse(body);
  if (!json || !json->is_object()) return fail(ErrorKind::kInvalid, "body: expected a JSON object");
  for (const auto& [name, value] : json->as_object()) {
    if (name != "namespace" && name != "name" && name != "dryRun") {
      return fail(ErrorKind::kInvalid, name, ": there is no such field");
    }
  }
  EndRequest out;
  out.ns = json->text_at("namespace");
  out.name = json->text_at("name");
  if (!is_name(out.ns)) return fail(ErrorKind::kInvalid, "namespace: expected the namespace of the pod");
  if (!is_name(out.name)) return fail(ErrorKind::kInvalid, "name: expected the name of the pod");
  if (const Json* dry = json->member("dryRun")) {
    if (!dry->is_bool()) return fail(ErrorKind::kInvalid, "dryRun: expected true or false");
    out.dry_run = dry->as_bool();
  }
  return out;
}

// kConflict: the pod is no offline work. The uid of the pod otherwise, so that only this one is ended.
net::Task<Result<std::string>> offline_pod(kube::Client& client, std::string ns, std::string name) {
  TM_CO_TRY(const auto bytes, co_await client.get(kube::kPods, ns, name, kAnswerLimit));
  kube::Interner interner;
  TM_CO_TRY(const Task task, decode_task(bytes, interner));
  if (!task.offline) {
    co_return fail(ErrorKind::kConflict, "pod ", ns, "/", name, " is no offline work; the console ends no other pod");
  }
  kube::PodFields fields;
  fields.resources = fields.statuses = false;
  TM_CO_TRY(const kube::Pod pod, kube::decode_pod(bytes, fields, interner));
  co_return std::string(pod.meta.uid.view());
}

}  // namespace

net::Task<void> end_task(net::HttpExchange& exchange, Person person) {
  auto body = co_await exchange.body(kEndBytesMax);
  if (!body) {
    respond_problem(exchange, body.error().kind == ErrorKind::kExhausted ? 413 : 408, "body", body.error().message);
    co_return;
  }
  const auto request = parse_request(*body);
  if (!request) {
    const std::string_view message = request.error().message;
    respond_error(exchange, request.error(), message.substr(0, message.find(':')));
    co_return;
  }
  auto uid = co_await offline_pod(*person.writer, request->ns, request->name);
  if (!uid && uid.error().kind == ErrorKind::kConflict) {
    respond_problem(exchange, 409, "not-offline", uid.error().message, "name");
    co_return;
  }
  if (!uid) {
    respond_error(exchange, uid.error());
    co_return;
  }
  kube::EvictOptions options;
  options.uid = *std::move(uid);
  options.dry_run = request->dry_run;
  const auto done = co_await kube::evict_pod(*person.writer, request->ns, request->name, options, kAnswerLimit);
  if (!done) {
    respond_error(exchange, done.error());
    co_return;
  }
  const Json answer = Json::object(
      {{"schema", kSchema}, {"namespace", request->ns}, {"name", request->name}, {"dryRun", request->dry_run}});
  exchange.respond(request->dry_run ? 200 : 202, answer_headers("application/json", "no-store"),
                   net::make_buffer(answer.dump()));
}

}  // namespace tidemark::console
