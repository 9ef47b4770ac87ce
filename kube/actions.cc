#include "kube/actions.h"

#include "base/json.h"

namespace tidemark::kube {
namespace {

void write_meta(base::JsonWriter& writer, std::string_view ns, std::string_view name) {
  writer.key("metadata").begin_object().member("name", name).member("namespace", ns).end_object();
}

}  // namespace

std::string eviction_body(std::string_view ns, std::string_view pod, const EvictOptions& options) {
  std::string body;
  base::JsonWriter writer(body);
  writer.begin_object().member("apiVersion", "policy/v1").member("kind", "Eviction");
  write_meta(writer, ns, pod);
  if (options.grace_period_s || !options.uid.empty() || options.dry_run) {
    writer.key("deleteOptions").begin_object();
    if (options.grace_period_s) writer.member("gracePeriodSeconds", *options.grace_period_s);
    if (!options.uid.empty()) {
      writer.key("preconditions").begin_object().member("uid", options.uid).end_object();
    }
    if (options.dry_run) writer.key("dryRun").begin_array().value("All").end_array();
    writer.end_object();
  }
  writer.end_object();
  return body;
}

net::Task<Result<void>> evict_pod(Writer& writer, std::string ns, std::string pod, EvictOptions options,
                                  base::Duration limit) {
  WriteOptions write;
  write.ns = ns;
  write.subresource = "eviction";
  write.dry_run = options.dry_run;
  write.note = options.note;
  write.refusal = options.refusal;
  auto answer = co_await writer.create(kPods, eviction_body(ns, pod, options), write, pod, limit);
  if (!answer) co_return base::fail(std::move(answer).error());
  co_return Result<void>();
}

std::string binding_body(std::string_view ns, std::string_view pod, std::string_view uid, std::string_view node) {
  std::string body;
  base::JsonWriter writer(body);
  writer.begin_object().member("apiVersion", "v1").member("kind", "Binding");
  writer.key("metadata").begin_object().member("name", pod).member("namespace", ns);
  if (!uid.empty()) writer.member("uid", uid);
  writer.end_object();
  writer.key("target").begin_object().member("apiVersion", "v1").member("kind", "Node").member("name", node);
  writer.end_object().end_object();
  return body;
}

net::Task<Result<void>> bind_pod(Writer& writer, std::string ns, std::string pod, std::string uid, std::string node,
                                 base::Duration limit) {
  WriteOptions write;
  write.ns = ns;
  write.subresource = "binding";
  auto answer = co_await writer.create(kPods, binding_body(ns, pod, uid, node), write, pod, limit);
  if (!answer) co_return base::fail(std::move(answer).error());
  co_return Result<void>();
}

}  // namespace tidemark::kube
