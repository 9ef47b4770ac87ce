// The pods of this node from the API server, by a watch of the pods bound to it: used if the kubelet's list is not
// available. The same tasks, a moment later; without the API server the last ones are held. Only a watch shows that a
// pod is gone: a pod that a later list lacks is unconfirmed while its group exists.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "agent/tasks/pod_groups.h"
#include "agent/tasks/pod_tasks.h"
#include "agent/tasks/provider.h"
#include "base/log.h"
#include "kube/informer.h"
#include "kube/intern.h"
#include "net/loop.h"

namespace tidemark::agent {

struct ApiServerProviderConfig {
  PodSource source;
  std::string node_name;
  std::size_t bytes_max = 4 * 1024 * 1024;
  // After this long without an answer of the API server, its pods are held. (A quiet watch ends every two minutes.)
  base::Duration silence_max = std::chrono::minutes(5);
};

class ApiServerProvider final : public TaskProvider {
 public:
  // `groups` outlives it.
  ApiServerProvider(kube::InformerParts parts, PodGroups& groups, ApiServerProviderConfig config);
  ~ApiServerProvider() override;

  net::Task<void> run();

  std::string_view name() const override { return "API server"; }
  const ProvidedTasks& provided() const override { return pods_.provided(); }

 private:
  // The part of a pod that the informer keeps.
  struct Projection {
    struct Meta {
      std::string ns, name, resource_version;
    };
    Meta meta;
    std::shared_ptr<const PodTask> pod;
    std::size_t bytes() const;
  };

  class FromCache;

  Result<Projection> decode(std::string_view bytes);
  net::Task<void> follow();
  void take_over();

  net::EventLoop& loop_;
  base::Log log_;
  ApiServerProviderConfig config_;
  PodTasks pods_;
  kube::Interner interner_;
  std::unique_ptr<FromCache> cached_;
  kube::Informer<Projection> informer_;
  net::Event changed_;
  net::Scope scope_;
};

}  // namespace tidemark::agent
