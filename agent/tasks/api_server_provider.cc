#include "agent/tasks/api_server_provider.h"

#include <functional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/decode.h"
#include "kube/resource.h"

namespace tidemark::agent {
namespace {

constexpr std::size_t kListInternerBytesMax = 1024 * 1024;
constexpr base::Duration kLookInterval = std::chrono::seconds(10);

kube::InformerConfig informer_config(const ApiServerProviderConfig& config) {
  kube::InformerConfig out;
  out.resource = kube::kPods;
  out.field_selector = base::cat("spec.nodeName=", config.node_name);
  out.bytes_max = config.bytes_max;
  return out;
}

}  // namespace

// Lists pods from the API server's cache. Otherwise an older server reads all pods of the cluster from etcd for each
// node. Such a list may be older than our data, and lack pods that run.
class ApiServerProvider::FromCache final : public kube::Reader, public kube::Watcher {
 public:
  FromCache(kube::Reader& reader, kube::Watcher& watcher) : reader_(reader), watcher_(watcher) {}

  net::Task<Result<std::string>> get(const kube::Resource& resource, std::string_view ns, std::string_view name,
                                     base::Duration limit) override {
    return reader_.get(resource, ns, name, limit);
  }
  net::Task<Result<std::string>> list(const kube::Resource& resource, kube::ListOptions options,
                                      std::function<Result<void>(std::string_view page)> on_page,
                                      std::function<void()> on_restart, base::Duration limit) override {
    listed_ = true;
    options.resource_version = "0";
    return reader_.list(resource, std::move(options), std::move(on_page), std::move(on_restart), limit);
  }
  net::Task<Result<std::unique_ptr<kube::WatchStream>>> watch(const kube::Resource& resource,
                                                              kube::WatchOptions options) override {
    listed_ = false;
    return watcher_.watch(resource, std::move(options));
  }
  // The current change comes from a list, not from a watch.
  bool listed() const { return listed_; }

 private:
  kube::Reader& reader_;
  kube::Watcher& watcher_;
  bool listed_ = false;
};

std::size_t ApiServerProvider::Projection::bytes() const {
  std::size_t sum = sizeof(Projection) + kube::string_bytes(meta.ns) + kube::string_bytes(meta.name) +
                    kube::string_bytes(meta.resource_version) + sizeof(PodTask) - sizeof(model::Task) +
                    pod->task.bytes();
  for (const std::string& note : pod->notes) sum += sizeof(std::string) + kube::string_bytes(note);
  return sum;
}

ApiServerProvider::ApiServerProvider(kube::InformerParts parts, PodGroups& groups, ApiServerProviderConfig config)
    : loop_(parts.loop),
      log_(std::move(parts.log)),
      config_(std::move(config)),
      pods_(groups),
      interner_(kListInternerBytesMax),
      cached_(std::make_unique<FromCache>(parts.reader, parts.watcher)),
      informer_({loop_, *cached_, *cached_, log_, parts.metrics, parts.random}, informer_config(config_),
                [this](std::string_view bytes) { return decode(bytes); }),
      changed_(loop_),
      scope_(loop_) {
  config_.source.provider = model::TaskProviderKind::kApiServer;
  informer_.subscribe([this](const kube::ObjectKey&, const Projection* before, const Projection* after) {
    if (after == nullptr && !cached_->listed()) pods_.drop(before->pod->task.identity.task);
    changed_.set();
  });
}

ApiServerProvider::~ApiServerProvider() = default;

net::Task<void> ApiServerProvider::run() {
  scope_.spawn(follow());
  co_await informer_.run();
}

Result<ApiServerProvider::Projection> ApiServerProvider::decode(std::string_view bytes) {
  TM_TRY(PodTask pod, decode_pod_task(bytes, config_.source, interner_));
  TM_TRY(const kube::Identity identity, kube::read_identity(bytes));
  for (const std::string& note : pod.notes) {
    log_.warn("cannot read a label or annotation of a pod",
              {{"pod", base::cat(identity.ns, "/", identity.name)}, {"what", note}});
  }
  return Projection{{identity.ns, identity.name, identity.resource_version},
                    std::make_shared<const PodTask>(std::move(pod))};
}

// Changes that arrive together are applied together: a list makes one change, not one for each pod.
net::Task<void> ApiServerProvider::follow() {
  while (!co_await informer_.wait_synced(config_.silence_max)) pods_.hold();
  for (bool changed = true;; changed = co_await changed_.wait_for(kLookInterval)) {
    changed_.clear();
    const base::MonotonicTime contact = informer_.core().last_contact();
    if (changed) take_over();
    const base::MonotonicTime now = loop_.clock().monotonic();
    if (now - contact > config_.silence_max) {
      pods_.hold();
    } else {
      pods_.give_up(now);
      pods_.confirm(contact);
    }
  }
}

void ApiServerProvider::take_over() {
  std::vector<std::shared_ptr<const PodTask>> pods;
  pods.reserve(informer_.core().size());
  informer_.for_each([&](const kube::ObjectKey&, const Projection& each) {
    if (pods.size() < kPodsMax) pods.push_back(each.pod);
  });
  pods_.set(std::move(pods), informer_.core().last_contact(), loop_.clock().monotonic());
}

}  // namespace tidemark::agent
