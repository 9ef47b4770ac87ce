#include "embedded/crds.h"

#include <string>

#include "base/text.h"
#include "base/yaml.h"

namespace tidemark::embedded {
namespace {
constexpr base::Duration kInstallLimit = std::chrono::seconds(20);
}  // namespace

net::Task<Result<void>> install_crds(kube::Client& client, base::Log log) {
  for (const auto& manifest : crd_manifests()) {
    auto definition = base::parse_yaml(manifest.yaml);
    if (!definition) co_return std::unexpected(std::move(definition).error().within(manifest.name));
    const std::string name(definition->text_at("metadata", "name"));
    auto created = co_await client.create(kube::kCustomResourceDefinitions, definition->dump(), {}, "", kInstallLimit);
    if (!created && created.error().kind == ErrorKind::kAlreadyExists) {
      const Json change = Json::object({{"spec", *definition->at("spec")}});
      created = co_await client.patch(kube::kCustomResourceDefinitions, name, kube::PatchType::kMerge, change.dump(),
                                      {}, kInstallLimit);
    }
    if (!created) co_return std::unexpected(std::move(created).error().within(base::cat("installing ", manifest.name)));
    log.debug("definition installed", {{"name", name}});
  }
  co_return Result<void>();
}

}  // namespace tidemark::embedded
