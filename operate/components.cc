#include "operate/components.h"

#include <map>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "kube/decode.h"
#include "kube/objects.h"
#include "manager/webhook/webhook_configurations.h"
#include "model/names.h"
#include "net/tls.h"
#include "operate/get.h"
#include "operate/list_pages.h"

namespace tidemark::operate {
namespace {

constexpr std::string_view kSelector = "app.kubernetes.io/name=tidemark";
constexpr std::string_view kComponentLabel = "app.kubernetes.io/component";
constexpr std::size_t kDigestShown = 19;  // "sha256:" and twelve digits

// Of the first container.
Result<std::string> image_of(std::string_view pod, kube::Interner& interner) {
  std::string image;
  kube::Decoder decoder(pod, interner);
  decoder.object([&](std::string_view key) {
    if (key != "spec") return decoder.skip();
    decoder.object([&](std::string_view of_spec) {
      if (of_spec != "containers") return decoder.skip();
      decoder.array([&] {
        decoder.object([&](std::string_view member) {
          if (member != "image" || !image.empty()) return decoder.skip();
          decoder.string(image);
        });
      });
    });
  });
  TM_TRY_VOID(decoder.finish("Pod"));
  return image;
}

net::Task<Result<std::vector<ComponentPods>>> read_pods(net::EventLoop& loop, kube::Client& client, std::string ns,
                                                        base::Duration limit) {
  std::map<std::pair<std::string, std::string>, ComponentPods> found;
  kube::Interner interner;
  kube::ListOptions list;
  list.ns = std::move(ns);
  list.label_selector = kSelector;
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kPods, std::move(list), limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const kube::Pod pod, kube::decode_pod(item, {{{kComponentLabel}, {}}, false, true}, interner));
        TM_TRY(const std::string image, image_of(item, interner));
        const std::string component(pod.meta.labels.get(kComponentLabel));
        const std::string version = version_of_image(image);
        ComponentPods& row = found[{component, version}];
        row.component = component;
        row.version = version;
        ++row.pods;
        for (const kube::ContainerStatus& status : pod.statuses) row.restarts += status.restarts;
        if (pod.started && (!row.youngest || *pod.started > *row.youngest)) row.youngest = pod.started;
        if (pod.ready == kube::Truth::kTrue) {
          ++row.ready;
        } else if (row.not_ready.size() < ComponentPods::kNamesMax) {
          row.not_ready.emplace_back(pod.meta.name.view());
        }
        return {};
      },
      [&] { found.clear(); }));
  std::vector<ComponentPods> out;
  out.reserve(found.size());
  for (auto& [key, row] : found) out.push_back(std::move(row));
  co_return out;
}

TrustedAuthority authority_in(std::string object, const Json& configuration) {
  TrustedAuthority out{std::move(object), std::nullopt, "no webhook of it has a bundle"};
  const Json* webhooks = configuration.member("webhooks");
  if (webhooks == nullptr || !webhooks->is_array()) return out;
  for (const Json& each : webhooks->as_array()) {
    const auto pem = base::base64_decode(each.text_at("clientConfig", "caBundle"));
    if (!pem || pem->empty()) continue;
    const auto facts = net::read_certificate(*pem);
    if (!facts) {
      out.problem = facts.error().message;
      continue;
    }
    if (!out.until || facts->not_after < *out.until) out.until = facts->not_after;
  }
  if (out.until) out.problem.clear();
  return out;
}

net::Task<Result<std::vector<TrustedAuthority>>> read_authorities(kube::Client& client, base::Duration limit) {
  const manager::ConfigurationOptions names;
  const std::pair<kube::Resource, std::string> objects[] = {{kube::kMutatingWebhooks, names.mutating_name},
                                                            {kube::kValidatingWebhooks, names.validating_name},
                                                            {kube::kValidatingWebhooks, names.evictions_name}};
  std::vector<TrustedAuthority> out;
  for (const auto& [resource, name] : objects) {
    TM_CO_TRY(const auto bytes, co_await get_if_there(client, resource, "", name, limit));
    if (!bytes) continue;
    TM_CO_TRY(const Json json, Json::parse(*bytes));
    out.push_back(authority_in(base::cat(resource.kind, " ", name), json));
  }
  co_return out;
}

}  // namespace

std::string version_of_image(std::string_view image) {
  if (const auto digest = image.find('@'); digest != std::string_view::npos) {
    return std::string(image.substr(digest + 1, kDigestShown));
  }
  const auto slash = image.rfind('/');
  const auto colon = image.rfind(':');
  if (colon == std::string_view::npos || (slash != std::string_view::npos && colon < slash)) return "";
  return std::string(image.substr(colon + 1));
}

net::Task<Result<std::vector<LeaderLease>>> read_leases(net::EventLoop& loop, kube::Client& client, std::string ns,
                                                        base::Duration limit) {
  std::vector<LeaderLease> out;
  kube::Interner interner;
  kube::ListOptions list;
  list.ns = std::move(ns);
  const kube::MetaFields fields{
      .labels = {},
      .annotations = {model::kYarnManagersAnnotation, model::kQueuesAnnotation, model::kAnnotatedByAnnotation}};
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kLeases, std::move(list), limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(kube::Lease lease, kube::decode_lease(item, fields, interner));
        LeaderLease row{std::string(lease.meta.name.view()),
                        std::move(lease.holder),
                        lease.acquired,
                        lease.renewed,
                        std::nullopt,
                        lease.transitions,
                        std::string(lease.meta.annotations.get(model::kYarnManagersAnnotation)),
                        std::string(lease.meta.annotations.get(model::kQueuesAnnotation)),
                        std::string(lease.meta.annotations.get(model::kAnnotatedByAnnotation))};
        if (lease.duration_s) row.lasts = std::chrono::seconds(*lease.duration_s);
        out.push_back(std::move(row));
        return {};
      },
      [&] { out.clear(); }));
  co_return out;
}

net::Task<Components> read_components(net::EventLoop& loop, kube::Client& client, std::string ns,
                                      base::Duration limit) {
  auto pods = co_await read_pods(loop, client, ns, limit);
  auto leases = co_await read_leases(loop, client, ns, limit);
  auto authorities = co_await read_authorities(client, limit);
  co_return Components{std::move(pods), std::move(leases), std::move(authorities)};
}

}  // namespace tidemark::operate
