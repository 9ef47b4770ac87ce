// Checks whether the agent may read a kind. An informer of an optional kind continues without it for two reasons: the
// server does not know the kind, or refuses access (403). Only the second one needs a fix.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "kube/client.h"

namespace tidemark::agent {

// Forwards every call. For one informer; it outlives that informer.
class ReadRights final : public kube::Reader, public kube::Watcher {
 public:
  ReadRights(kube::Reader& reader, kube::Watcher& watcher, base::Log log);

  net::Task<Result<std::string>> get(const kube::Resource& resource, std::string_view ns, std::string_view name,
                                     base::Duration limit) override;
  net::Task<Result<std::string>> list(const kube::Resource& resource, kube::ListOptions options,
                                      std::function<Result<void>(std::string_view page)> on_page,
                                      std::function<void()> on_restart, base::Duration limit) override;
  net::Task<Result<std::unique_ptr<kube::WatchStream>>> watch(const kube::Resource& resource,
                                                              kube::WatchOptions options) override;

  // The missing permission; "" while none is known to be missing.
  const std::string& missing() const { return missing_; }

 private:
  void note(const kube::Resource& resource, std::string_view verb, const Error* error);

  kube::Reader& reader_;
  kube::Watcher& watcher_;
  base::Log log_;
  std::string_view missing_verb_;  // a literal
  std::string missing_;
};

}  // namespace tidemark::agent
