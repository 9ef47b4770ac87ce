#include "agent/report/read_rights.h"

#include <utility>

#include "base/text.h"

namespace tidemark::agent {

ReadRights::ReadRights(kube::Reader& reader, kube::Watcher& watcher, base::Log log)
    : reader_(reader), watcher_(watcher), log_(std::move(log)) {}

net::Task<Result<std::string>> ReadRights::get(const kube::Resource& resource, std::string_view ns,
                                               std::string_view name, base::Duration limit) {
  return reader_.get(resource, ns, name, limit);
}

net::Task<Result<std::string>> ReadRights::list(const kube::Resource& resource, kube::ListOptions options,
                                                std::function<Result<void>(std::string_view page)> on_page,
                                                std::function<void()> on_restart, base::Duration limit) {
  auto listed = co_await reader_.list(resource, std::move(options), std::move(on_page), std::move(on_restart), limit);
  note(resource, "list", listed ? nullptr : &listed.error());
  co_return listed;
}

net::Task<Result<std::unique_ptr<kube::WatchStream>>> ReadRights::watch(const kube::Resource& resource,
                                                                        kube::WatchOptions options) {
  auto watched = co_await watcher_.watch(resource, std::move(options));
  note(resource, "watch", watched ? nullptr : &watched.error());
  co_return watched;
}

// A failed request says nothing about permissions.
void ReadRights::note(const kube::Resource& resource, std::string_view verb, const Error* error) {
  const bool refused = error != nullptr && error->kind == ErrorKind::kDenied && error->code == 403;
  if (refused) {
    if (verb == missing_verb_) return;
    missing_verb_ = verb;
    missing_ = base::cat("grant `", verb, "` of ", resource.plural, ": the API server refuses it (403)");
    log_.warn("a permission is missing", {{"right", missing_}, {"error", *error}});
  } else if (error == nullptr && verb == missing_verb_) {
    missing_verb_ = "";
    missing_.clear();
    log_.info("the missing permission was granted", {{"verb", verb}, {"kind", resource.kind}});
  }
}

}  // namespace tidemark::agent
