#include "embedded/crds.h"

#include <string>

#include "base/text.h"
#include "base/yaml.h"
#include "kube/memory/merge_patch.h"

namespace tidemark::embedded {
namespace {

constexpr base::Duration kCrdInstallLimit = std::chrono::seconds(20);

// Whether a merge patch with the wanted members would change anything. The server completes what a manifest leaves out
// (names, the conversion), which is no difference.
bool says_all(const Json& held, const Json& wanted) {
  Json patched = held;
  kube::memory::apply_merge_patch(patched, wanted);
  return patched == held;
}

net::Task<Result<void>> install(kube::Client& client, const base::Log& log, const Json& definition) {
  const std::string name(definition.text_at("metadata", "name"));
  const auto held = co_await client.get(kube::kCustomResourceDefinitions, "", name, kCrdInstallLimit);
  if (!held && held.error().kind == ErrorKind::kNotFound) {
    TM_CO_TRY_VOID(
        co_await client.create(kube::kCustomResourceDefinitions, definition.dump(), {}, "", kCrdInstallLimit));
    log.debug("definition installed", {{"name", name}});
    co_return Result<void>();
  }
  if (!held) co_return std::unexpected(held.error());
  TM_CO_TRY(const Json present, Json::parse(*held));
  const Json change = Json::object({{"spec", *definition.at("spec")}});
  if (says_all(present, change)) co_return Result<void>();
  TM_CO_TRY_VOID(co_await client.patch(kube::kCustomResourceDefinitions, name, kube::PatchType::kMerge, change.dump(),
                                       {}, kCrdInstallLimit));
  log.info("definition brought up to date", {{"name", name}});
  co_return Result<void>();
}

}  // namespace

net::Task<Result<void>> install_crds(kube::Client& client, base::Log log) {
  for (const auto& manifest : crd_manifests()) {
    auto definition = base::parse_yaml(manifest.yaml);
    if (!definition) co_return std::unexpected(std::move(definition).error().within(manifest.name));
    auto installed = co_await install(client, log, *definition);
    if (!installed)
      co_return std::unexpected(std::move(installed).error().within(base::cat("installing ", manifest.name)));
  }
  co_return Result<void>();
}

}  // namespace tidemark::embedded
