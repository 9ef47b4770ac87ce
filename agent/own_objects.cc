#include "agent/own_objects.h"

#include <chrono>
#include <utility>

#include "agent/protect/node_facts.h"

namespace tidemark::agent {
namespace {

constexpr base::Duration kListPatience = std::chrono::minutes(1);

kube::InformerConfig only(const kube::Resource& resource, const std::string& node_name, bool may_be_absent) {
  kube::InformerConfig config;
  config.resource = resource;
  config.field_selector = "metadata.name=" + node_name;
  config.may_be_absent = may_be_absent;
  return config;
}

}  // namespace

OwnObjects::OwnObjects(net::EventLoop& loop, kube::Client& client, kube::Interner& interner, const base::Log& log,
                       base::Registry& metrics, base::Random random, Config config)
    : log_(log),
      config_(std::move(config)),
      interner_(interner),
      kept_(config_.run_dir),
      node_({loop, client, client, log_, metrics, random.fork()}, only(kube::kNodes, config_.node_name, false),
            [this](std::string_view bytes) {
              keep(KeptObject::kNode, bytes);
              return kube::decode_node(bytes, node_facts_fields(), interner_);
            }),
      rights_(client, client, log_),
      node_slo_({loop, rights_, rights_, log_, metrics, random.fork()}, only(kube::kNodeSlos, config_.node_name, true),
                [this](std::string_view bytes) {
                  keep(KeptObject::kNodeSlo, bytes);
                  return kube::decode_node_slo(bytes, {}, interner_);
                }),
      scope_(loop) {
  node_.subscribe([this](const kube::ObjectKey&, const kube::Node*, const kube::Node* after) {
    if (after != nullptr) config_.on_node(*after, false);
  });
  node_slo_.subscribe(
      [this](const kube::ObjectKey&, const kube::NodeSlo*, const kube::NodeSlo* after) { use_node_slo(after); });
}

void OwnObjects::start() {
  use_saved();
  scope_.spawn(node_.run());
  scope_.spawn(node_slo_.run());
  scope_.spawn(report_absent_node_slo());
}

void OwnObjects::keep(KeptObject what, std::string_view bytes) {
  if (const auto kept = kept_.keep(what, bytes); !kept) {
    log_.warn("cannot save Node and NodeSLO for restart", {{"error", kept.error().message}});
  }
}

void OwnObjects::use_saved() {
  if (const auto bytes = kept_.read(KeptObject::kNode); bytes && *bytes) {
    if (const auto node = kube::decode_node(**bytes, node_facts_fields(), interner_)) config_.on_node(*node, true);
  }
  if (const auto bytes = kept_.read(KeptObject::kNodeSlo); bytes && *bytes) {
    if (const auto slo = kube::decode_node_slo(**bytes, {}, interner_)) use_node_slo(&*slo);
  }
}

void OwnObjects::use_node_slo(const kube::NodeSlo* slo) {
  if (slo == nullptr) {
    if (const auto dropped = kept_.drop(KeptObject::kNodeSlo); !dropped) {
      log_.warn("cannot remove the saved NodeSLO", {{"error", dropped.error().message}});
    }
  }
  config_.on_node_slo(slo);
}

net::Task<void> OwnObjects::report_absent_node_slo() {
  while (!co_await node_slo_.wait_synced(kListPatience)) {
  }
  if (node_slo_.find({"", config_.node_name}) == nullptr) use_node_slo(nullptr);
}

}  // namespace tidemark::agent
