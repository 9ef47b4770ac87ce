#include "manager/capacity/figures.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/node.h"

namespace tidemark::manager {
namespace {

using base::cat;
using model::Resources;

constexpr double kMilli = 1000.0;

std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// `name{a="b"}` lines under one head.
class Page {
 public:
  void family(std::string_view name, std::string_view kind, std::string_view help) {
    name_ = name;
    out_ += cat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n");
  }
  void line(std::string_view labels, double value) { out_ += cat(name_, "{", labels, "} ", value, "\n"); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  std::string_view name_;
};

double hours(base::Duration time) {
  return std::chrono::duration<double, std::ratio<3600>>(time).count();
}

bool is_offline(model::PriorityClass priority) {
  return priority == model::PriorityClass::kBatch || priority == model::PriorityClass::kFree;
}

Resources used_offline(const model::NodeMetricView& metric) {
  Resources used;
  for (const auto& pod : metric.pods) {
    if (is_offline(pod.priority)) used += pod.usage;
  }
  for (const auto& application : metric.host_applications) {
    if (is_offline(application.priority)) used += application.usage;
  }
  return used;
}

// Sums over all nodes stay exact, whatever one node says of itself: what was added can be taken off again.
Resources within_a_node(Resources amount) {
  return model::min(model::max(amount, Resources{}), kNodeMost);
}

}  // namespace

NodeFigures figures_of(const model::NodeSnapshot& node, const policy::sell::OvercommitPlan& plan,
                       const FigureBasis& basis) {
  NodeFigures figures;
  figures.reason = basis.not_written.value_or(plan.reason);
  figures.capacity = node.capacity;
  const bool switched_off =
      plan.reason == model::Reason::kDisabledByCluster || plan.reason == model::Reason::kDisabledForNode;
  figures.silent = !basis.reports && !basis.not_written && !switched_off;
  // What is held stays on the node as it is.
  const bool stays = plan.action == policy::sell::PlanAction::kHold || basis.not_written;
  const auto& offer = stays ? node.published : plan.publish;
  figures.offered = {offer.batch_cpu.value_or(model::CpuMilli{}), offer.batch_memory.value_or(model::MemoryBytes{})};
  figures.sold_kubernetes = basis.batch_requests;
  if (node.third_party) {
    for (const auto& allocation : *node.third_party) {
      if (allocation.priority == model::PriorityClass::kBatch) {
        figures.sold_yarn += model::max(allocation.resources, Resources{});
      }
    }
  }
  if (node.metric && basis.reports) {
    figures.used = within_a_node(model::min(used_offline(*node.metric), node.capacity));
    if (node.metric->node_usage) figures.idle = model::max(node.capacity - *node.metric->node_usage, Resources{});
  }
  if (plan.action == policy::sell::PlanAction::kPublish && plan.origin) {
    figures.batch = Resources{plan.batch_cpu.allowed, plan.batch_memory.allowed};
    figures.mid = Resources{plan.mid_cpu.published, plan.mid_memory.published};
  }
  for (Resources* summed :
       {&figures.capacity, &figures.offered, &figures.sold_kubernetes, &figures.sold_yarn, &figures.idle}) {
    *summed = within_a_node(*summed);
  }
  figures.offered_real = figures.offered;
  return figures;
}

void Figures::add(Pool& pool, const NodeFigures& figures, int sign) {
  const auto each = [sign](Resources& sum, const Resources& part) { sum = sign > 0 ? sum + part : sum - part; };
  pool.nodes += sign;
  pool.silent += figures.silent ? sign : 0;
  each(pool.capacity, figures.capacity);
  each(pool.offered, figures.offered);
  each(pool.offered_real, figures.offered_real);
  each(pool.sold_kubernetes, figures.sold_kubernetes);
  each(pool.sold_yarn, figures.sold_yarn);
  each(pool.used, figures.used);
  each(pool.idle, figures.idle);
  pool.by_reason[figures.reason] += sign;
}

void Figures::observe(const model::NodeName& node, std::string_view pool_name, std::string_view business,
                      const NodeFigures& figures, base::MonotonicTime now, bool counts) {
  auto pool = pools_.find(pool_name);
  if (pool == pools_.end()) pool = pools_.try_emplace(std::string(pool_name)).first;
  pool->second.business = business;
  const auto at = nodes_.find(node);
  if (at == nodes_.end()) {
    nodes_.emplace(node, Node{pool, figures, now});
  } else {
    Node& before = at->second;
    if (counts) {
      const double cores = static_cast<double>(before.figures.used.cpu.value) / kMilli;
      before.pool->second.gain_core_hours +=
          cores * hours(std::clamp(now - before.when, base::Duration(0), kGainGapMax));
    }
    add(before.pool->second, before.figures, -1);
    before = {pool, figures, now};
  }
  add(pool->second, figures, 1);
}

void Figures::forget(const model::NodeName& node) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end()) return;
  add(at->second.pool->second, at->second.figures, -1);
  nodes_.erase(at);
}

std::string Figures::text() const {
  Page page;
  page.family("slo_controller_node_extended_resource_allocatable_internal", "gauge",
              "Result of the formulas for a node: batch-cpu in cores, mid-cpu in milli-cores, as in Koordinator.");
  for (const auto& [name, node] : nodes_) {
    const auto line = [&](std::string_view resource, std::string_view unit, double value) {
      page.line(cat("node=\"", escaped(name.value), "\",resource=\"kubernetes.io/", resource, "\",unit=\"", unit, "\""),
                value);
    };
    if (node.figures.batch) {
      line("batch-cpu", "integer", static_cast<double>(node.figures.batch->cpu.value) / kMilli);
      line("batch-memory", "byte", static_cast<double>(node.figures.batch->memory.value));
    }
    if (node.figures.mid) {
      line("mid-cpu", "integer", static_cast<double>(node.figures.mid->cpu.value));
      line("mid-memory", "byte", static_cast<double>(node.figures.mid->memory.value));
    }
  }

  const auto pools = [&](std::string_view name, std::string_view kind, std::string_view help, auto value) {
    page.family(name, kind, help);
    for (const auto& [pool, sums] : pools_) page.line(cat("pool=\"", escaped(pool), "\""), value(sums));
  };
  const auto cores = [](model::CpuMilli cpu) { return static_cast<double>(cpu.value) / kMilli; };
  const auto bytes = [](model::MemoryBytes memory) { return static_cast<double>(memory.value); };
  pools("tidemark_manager_capacity_cpu_cores", "gauge", "Capacity of the pool's nodes.",
        [&](const Pool& pool) { return cores(pool.capacity.cpu); });
  pools("tidemark_manager_capacity_memory_bytes", "gauge", "Capacity of the pool's nodes.",
        [&](const Pool& pool) { return bytes(pool.capacity.memory); });
  pools("tidemark_manager_gain_core_hours_total", "counter",
        "Use of offline work, summed over time since this process began to lead.",
        [](const Pool& pool) { return pool.gain_core_hours; });
  pools("tidemark_manager_idle_cpu_cores", "gauge", "Unused capacity of the pool's nodes.",
        [&](const Pool& pool) { return cores(pool.idle.cpu); });
  pools("tidemark_manager_idle_memory_bytes", "gauge", "Unused capacity of the pool's nodes.",
        [&](const Pool& pool) { return bytes(pool.idle.memory); });
  page.family("tidemark_manager_nodes", "gauge",
              "Nodes by decision: TM-NODE-001 is an offer, other reasons say why there is none.");
  for (const auto& [name, pool] : pools_) {
    for (const auto& [reason, count] : pool.by_reason) {
      page.line(cat("pool=\"", escaped(name), "\",reason=\"", model::reason_id(reason), "\""),
                static_cast<double>(count));
    }
  }
  pools("tidemark_manager_nodes_silent", "gauge",
        "Nodes that do not report, of those that are not switched off and are not only observed.",
        [](const Pool& pool) { return static_cast<double>(pool.silent); });
  pools("tidemark_manager_offered_cpu_cores", "gauge", "Batch offered to Kubernetes.",
        [&](const Pool& pool) { return cores(pool.offered.cpu); });
  pools("tidemark_manager_offered_memory_bytes", "gauge", "Batch offered to Kubernetes.",
        [&](const Pool& pool) { return bytes(pool.offered.memory); });
  pools("tidemark_manager_offered_real_cpu_cores", "gauge",
        "Real part of the batch offered to Kubernetes; less than the offer if it is over-reported.",
        [&](const Pool& pool) { return cores(pool.offered_real.cpu); });
  pools("tidemark_manager_offered_real_memory_bytes", "gauge",
        "Real part of the batch offered to Kubernetes; less than the offer if it is over-reported.",
        [&](const Pool& pool) { return bytes(pool.offered_real.memory); });
  page.family("tidemark_manager_pool_info", "gauge", "1: the business that owns the nodes of the pool.");
  for (const auto& [name, pool] : pools_) {
    if (pool.business.empty()) continue;
    page.line(cat("pool=\"", escaped(name), "\",business=\"", escaped(pool.business), "\""), 1);
  }
  const auto sides = [&](std::string_view name, std::string_view help, auto value) {
    page.family(name, "gauge", help);
    for (const auto& [pool, sums] : pools_) {
      page.line(cat("pool=\"", escaped(pool), "\",side=\"kubernetes\""), value(sums.sold_kubernetes));
      page.line(cat("pool=\"", escaped(pool), "\",side=\"yarn\""), value(sums.sold_yarn));
    }
  };
  sides("tidemark_manager_sold_cpu_cores",
        "CPU held by batch work: requests of bound pods, and allocations that YARN reports.",
        [&](const Resources& sold) { return cores(sold.cpu); });
  sides("tidemark_manager_sold_memory_bytes", "Memory held by batch work, in the same way.",
        [&](const Resources& sold) { return bytes(sold.memory); });
  pools("tidemark_manager_used_cpu_cores", "gauge", "Use of offline work (batch and free), by the nodes' reports.",
        [&](const Pool& pool) { return cores(pool.used.cpu); });
  pools("tidemark_manager_used_memory_bytes", "gauge", "Use of offline work (batch and free), by the nodes' reports.",
        [&](const Pool& pool) { return bytes(pool.used.memory); });
  return page.take();
}

}  // namespace tidemark::manager
