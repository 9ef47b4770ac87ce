#include "console/platform_document.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "console/json_values.h"
#include "kube/objects.h"
#include "model/annotations.h"
#include "model/isolation.h"
#include "model/names.h"
#include "policy/protect/knobs.h"

namespace tidemark::console {
namespace {

using base::JsonWriter;

constexpr std::size_t kNamesMax = 5;                        // nodes that one row names
constexpr std::size_t kYarnNodesMax = 12'000;               // in one answer
constexpr std::string_view kKernelFiles = "kernel files ";  // begins that part of the condition's message
// Each begins a list of files in that part, as policy/explain/doctor_text.h writes it.
constexpr std::array<std::string_view, 5> kVerdicts = {
    "effective: ", "accepted: ", "not decided: ", "no effect: ", "refused: "};
constexpr std::string_view kSetAgainEvent = "TidemarkYarnSetAgain";
constexpr std::string_view kMismatchEvent = "TidemarkYarnMismatch";

// {"error":…,"rows":[…]}: an error leaves the rows unknown.
template <class Row, class Write>
void write_part(JsonWriter& json, std::string_view key, const Result<std::vector<Row>>& part, Write write) {
  json.key(key).begin_object();
  json.key("error");
  if (part) {
    json.null();
    json.key("rows").begin_array();
    for (const Row& row : *part) {
      json.begin_object();
      write(row);
      json.end_object();
    }
    json.end_array();
  } else {
    json.value(part.error().message);
    json.key("rows").null();
  }
  json.end_object();
}

void write_names(JsonWriter& json, std::string_view key, const std::vector<std::string>& names) {
  json.key(key).begin_array();
  for (const auto& name : names) json.value(name);
  json.end_array();
}

// What the agents of one kernel family report with the same words.
struct AgentGroup {
  std::int64_t nodes = 0;
  std::vector<std::string> names;
  std::optional<base::WallTime> changed;  // of the last one that changed
};
struct KernelFamily {
  std::int64_t nodes = 0;
  std::map<std::string, std::int64_t, std::less<>> releases;
  // By the reason of the condition and its part about kernel files; "" is no condition.
  std::map<std::pair<std::string, std::string>, AgentGroup> agents;
};

// "effective: cpu.idle; no effect: memory.low"
std::string kernel_files_of(std::string_view message) {
  std::string out;
  for (const std::string_view part : base::split(message, ';')) {
    const std::string_view text = base::trim(part);
    if (out.empty() && text.starts_with(kKernelFiles)) {
      out = text.substr(kKernelFiles.size());
    } else if (!out.empty()) {
      if (std::ranges::none_of(kVerdicts, [&](std::string_view each) { return text.starts_with(each); })) break;
      out += base::cat("; ", text);
    }
  }
  return out;
}

// Kernel files that agents use, and that no agent of the family found. Empty if none reported the files it found.
std::vector<std::string> lacking(const KernelFamily& family) {
  std::vector<std::string> out;
  if (std::ranges::all_of(family.agents, [](const auto& each) { return each.first.second.empty(); })) return out;
  for (std::size_t index = 0; index < policy::protect::kKnobs; ++index) {
    const std::string_view file = to_string(static_cast<policy::protect::Knob>(index));  // in no other file's name
    const auto names = [&](const auto& each) { return each.first.second.contains(file); };
    if (std::ranges::none_of(family.agents, names)) out.emplace_back(file);
  }
  return out;
}

std::map<std::string, KernelFamily> families_of(View& view) {
  std::map<std::string, KernelFamily> families;
  for (const auto& [name, row] : view.rows()) {
    const kube::Node* node = view.node(name);
    if (node == nullptr) continue;
    KernelFamily& family = families[kernel_family(node->info.kernel_version.view())];
    ++family.nodes;
    ++family.releases[std::string(node->info.kernel_version.view())];
    const kube::NodeCondition* condition = node->condition(model::kIsolationCondition);
    std::string reason, kernel_files;
    if (condition != nullptr) {
      reason = condition->reason.view();
      kernel_files = kernel_files_of(condition->message.view());
    }
    AgentGroup& group = family.agents[{std::move(reason), std::move(kernel_files)}];
    ++group.nodes;
    if (group.names.size() < kNamesMax) group.names.push_back(name);
    if (condition != nullptr && condition->changed && (!group.changed || *condition->changed > *group.changed)) {
      group.changed = condition->changed;
    }
  }
  return families;
}

void write_families(JsonWriter& json, View& view) {
  json.key("kernels").begin_array();
  for (const auto& [name, family] : families_of(view)) {
    json.begin_object();
    json.member("family", name);
    json.member("nodes", family.nodes);
    json.key("releases").begin_array();
    for (const auto& [release, nodes] : family.releases) {
      json.begin_object().member("release", release).member("nodes", nodes).end_object();
    }
    json.end_array();
    json.key("agents").begin_array();
    for (const auto& [key, group] : family.agents) {
      json.begin_object();
      text_member(json, "reason", key.first);
      json.member("kernelFiles", key.second);
      json.member("nodes", group.nodes);
      write_names(json, "names", group.names);
      seconds_member(json, "changed", group.changed);
      json.end_object();
    }
    json.end_array();
    write_names(json, "lacks", lacking(family));
    json.end_object();
  }
  json.end_array();
}

void write_requests(JsonWriter& json, const View& view) {
  const auto found = view.requests();
  json.key("requests").begin_object();
  seconds_member(json, "since", found ? std::optional(found->since) : std::nullopt);
  json.key("rows").begin_array();
  if (found) {
    for (const VerbTimes& each : found->verbs) {
      json.begin_object();
      json.member("verb", each.verb);
      json.member("requests", each.requests);
      optional_member(json, "p50Millis", each.p50_ms);
      optional_member(json, "p99Millis", each.p99_ms);
      json.end_object();
    }
  }
  json.end_array().end_object();
}

// ---- YARN ----

struct YarnAmounts {
  model::Resources offered, confirmed, held;
  std::int64_t nodes = 0;
  std::int64_t without_held = 0;  // nodes of which it is unknown what YARN holds
  std::int64_t unconfirmed = 0;   // nodes whose last offer is not confirmed
};

struct YarnNode {
  std::string name, cluster, node_manager;
  std::optional<model::YarnOffer> offer;
  std::optional<model::YarnBook> book;
  std::string problem;  // what of it cannot be read
  std::optional<model::Resources> held() const {
    if (!book || !book->sold) return std::nullopt;
    model::Resources sum;
    for (const auto& each : *book->sold) sum += each.amount;
    return sum;
  }
};

std::optional<YarnNode> yarn_node(const kube::Node& node) {
  const auto& annotations = node.meta.annotations;
  const kube::Text* offer = annotations.find(model::kYarnOfferAnnotation);
  const kube::Text* book = annotations.find(model::kYarnBookAnnotation);
  const kube::Text* of = annotations.find(kYarnBookOfAnnotation);
  if (offer == nullptr && book == nullptr && of == nullptr) return std::nullopt;
  YarnNode out;
  out.name = node.meta.name.view();
  out.cluster = annotations.get(model::kYarnClusterIdAnnotation);
  if (of != nullptr) {
    const std::string_view text = of->view();
    const auto slash = text.rfind('/');
    if (slash != std::string_view::npos) {
      out.cluster = text.substr(0, slash);
      out.node_manager = text.substr(slash + 1);
    }
  }
  if (offer != nullptr) {
    if (auto read = model::parse_yarn_offer(offer->view())) {
      out.offer = *std::move(read);
    } else {
      out.problem = read.error().message;
    }
  }
  if (book != nullptr) {
    if (auto read = model::parse_yarn_book(book->view())) {
      out.book = *std::move(read);
    } else {
      out.problem = read.error().message;
    }
  }
  return out;
}

void write_yarn_amount(JsonWriter& json, std::string_view key, const std::optional<model::Resources>& amount) {
  json.key(key);
  if (!amount) {
    json.null();
    return;
  }
  json.begin_object().member("cpu", amount->cpu.value).member("memory", amount->memory.value).end_object();
}

void add(YarnAmounts& sum, const YarnNode& node) {
  ++sum.nodes;
  if (node.offer) sum.offered += node.offer->offer;
  if (node.book) sum.confirmed += node.book->confirmed;
  if (const auto held = node.held()) {
    sum.held += *held;
  } else {
    ++sum.without_held;
  }
  if (node.offer && (!node.book || node.book->generation < node.offer->generation)) ++sum.unconfirmed;
}

void write_yarn_node(JsonWriter& json, const YarnNode& node, const operate::Decision* contested) {
  json.begin_object();
  json.member("node", node.name);
  json.member("cluster", node.cluster);
  json.member("nodeManager", node.node_manager);
  write_yarn_amount(json, "offered", node.offer ? std::optional(node.offer->offer) : std::nullopt);
  write_yarn_amount(json, "confirmed", node.book ? std::optional(node.book->confirmed) : std::nullopt);
  write_yarn_amount(json, "held", node.held());
  json.key("isConfirmed");
  if (node.offer && node.book) {
    json.value(node.book->generation >= node.offer->generation);
  } else {
    json.null();
  }
  json.member("waiting", node.book && node.book->waiting ? *node.book->waiting : std::string());
  model::Resources amount;
  if (node.offer) {
    for (const model::Reclaim& each : node.offer->reclaim) amount += each.amount;
  }
  write_yarn_amount(json, "reclaim", node.offer ? std::optional(amount) : std::nullopt);
  seconds_member(json, "drainBy", node.offer ? node.offer->drain_by : std::nullopt);
  json.key("contestedAt");
  if (contested != nullptr) {
    json.value(seconds(contested->at));
    json.member("contest", contested->text);
  } else {
    json.null();
  }
  json.member("problem", node.problem);
  json.end_object();
}

// ---- what components write with their Leases ----

template <class Row>
struct Reported {
  Row row;
  std::optional<base::WallTime> at;
  bool is_current = false;  // the writer still holds the Lease, and renews it
};

// The rows of one annotation, of all Leases that have it.
template <class Row>
Result<std::vector<Reported<Row>>> rows_of(const Result<std::vector<operate::LeaderLease>>& leases,
                                           std::string operate::LeaderLease::* annotation,
                                           Result<std::vector<Row>> (*parse)(std::string_view), base::WallTime now) {
  if (!leases) return fail(leases.error());
  std::vector<Reported<Row>> out;
  for (const operate::LeaderLease& lease : *leases) {
    if ((lease.*annotation).empty()) continue;
    TM_TRY(auto rows, parse(lease.*annotation));
    const bool is_current = !lease.holder.empty() && lease.holder == lease.annotated_by && lease.renewed &&
                            lease.lasts && now - *lease.renewed <= *lease.lasts;
    for (Row& row : rows) out.push_back({std::move(row), lease.renewed, is_current});
  }
  return out;
}

}  // namespace

std::string kernel_family(std::string_view release) {
  std::size_t dots = 0, at = 0;
  for (; at < release.size(); ++at) {
    if (release[at] == '.' && ++dots == 2) break;
    if (release[at] != '.' && (release[at] < '0' || release[at] > '9')) break;
  }
  return std::string(dots == 0 ? release : release.substr(0, at));
}

void write_yarn_of_node(JsonWriter& json, const kube::Node& node) {
  const auto found = yarn_node(node);
  if (!found) {
    json.null();
    return;
  }
  json.begin_object();
  json.member("cluster", found->cluster);
  json.member("nodeManager", found->node_manager);
  write_yarn_amount(json, "offered", found->offer ? std::optional(found->offer->offer) : std::nullopt);
  write_yarn_amount(json, "confirmed", found->book ? std::optional(found->book->confirmed) : std::nullopt);
  json.member("waiting", found->book && found->book->waiting ? *found->book->waiting : std::string());
  json.member("problem", found->problem);
  json.key("held");
  if (found->book && found->book->sold) {
    json.begin_array();
    for (const model::YarnBook::Sold& each : *found->book->sold) {
      json.begin_object();
      json.member("class", each.work_class);
      json.member("cpu", each.amount.cpu.value);
      json.member("memory", each.amount.memory.value);
      json.end_object();
    }
    json.end_array();
  } else {
    json.null();
  }
  json.key("reclaim");
  if (found->offer) {
    json.begin_array();
    for (const model::Reclaim& each : found->offer->reclaim) {
      json.begin_object();
      json.member("class", each.work_class);
      json.member("cpu", each.amount.cpu.value);
      json.member("memory", each.amount.memory.value);
      json.member("reason", each.reason);
      json.end_object();
    }
    json.end_array();
  } else {
    json.null();
  }
  json.end_object();
}

std::string platform_document(const operate::Components& components, View& view,
                              const std::optional<ServedCertificate>& certificate, base::WallTime now) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.member("version", TIDEMARK_VERSION);
  write_part(json, "components", components.pods, [&](const operate::ComponentPods& row) {
    json.member("component", row.component);
    json.member("version", row.version);
    json.member("pods", row.pods);
    json.member("ready", row.ready);
    json.member("restarts", row.restarts);
    write_names(json, "notReady", row.not_ready);
    seconds_member(json, "youngest", row.youngest);
  });
  write_part(json, "leases", components.leases, [&](const operate::LeaderLease& row) {
    json.member("name", row.name);
    json.member("holder", row.holder);
    seconds_member(json, "acquired", row.acquired);
    seconds_member(json, "renewed", row.renewed);
    seconds_member(json, "lastsSeconds", row.lasts);
    json.member("transitions", row.transitions);
  });
  write_part(json, "queues", rows_of(components.leases, &operate::LeaderLease::queues, model::parse_queues, now),
             [&](const auto& each) {
               json.member("name", each.row.name);
               optional_member(json, "length", each.is_current ? std::optional(each.row.length) : std::nullopt);
               seconds_member(json, "oldestSince", each.is_current ? each.row.oldest_since : std::nullopt);
               seconds_member(json, "reported", each.at);
             });
  write_part(json, "authorities", components.authorities, [&](const operate::TrustedAuthority& row) {
    json.member("object", row.object);
    seconds_member(json, "until", row.until);
    json.member("problem", row.problem);
  });
  json.key("certificate");
  if (certificate) {
    json.begin_object();
    seconds_member(json, "until", certificate->until);
    json.end_object();
  } else {
    json.null();
  }
  write_requests(json, view);
  write_families(json, view);
  json.end_object();
  return out;
}

std::string yarn_document(View& view, const Result<std::vector<operate::Decision>>& events,
                          const Result<std::vector<operate::LeaderLease>>& leases, base::WallTime now) {
  // The newest for each node.
  std::map<std::string_view, const operate::Decision*> contested;
  if (events) {
    for (const operate::Decision& event : *events) {
      if (event.action != kSetAgainEvent && event.action != kMismatchEvent) continue;
      const operate::Decision*& kept = contested[event.node];
      if (kept == nullptr || kept->at < event.at) kept = &event;
    }
  }
  std::vector<YarnNode> nodes;
  std::map<std::string, YarnAmounts> clusters;
  std::map<std::string, std::int64_t> contested_in;
  for (const auto& [name, row] : view.rows()) {
    const kube::Node* node = view.node(name);
    if (node == nullptr) continue;
    auto found = yarn_node(*node);
    if (!found) continue;
    add(clusters[found->cluster], *found);
    if (contested.contains(name)) ++contested_in[found->cluster];
    if (nodes.size() < kYarnNodesMax) nodes.push_back(*std::move(found));
  }
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  text_member(json, "eventsError", events ? std::string_view() : std::string_view(events.error().message));
  json.key("clusters").begin_array();
  for (const auto& [name, sum] : clusters) {
    json.begin_object();
    json.member("name", name);
    json.member("nodes", sum.nodes);
    write_yarn_amount(json, "offered", sum.offered);
    write_yarn_amount(json, "confirmed", sum.confirmed);
    write_yarn_amount(json, "held", sum.without_held < sum.nodes ? std::optional(sum.held) : std::nullopt);
    json.member("withoutHeld", sum.without_held);
    json.member("unconfirmed", sum.unconfirmed);
    optional_member(json, "contested", events ? std::optional(contested_in[name]) : std::nullopt);
    json.end_object();
  }
  json.end_array();
  write_part(json, "managers", rows_of(leases, &operate::LeaderLease::yarn_managers, model::parse_yarn_managers, now),
             [&](const auto& each) {
               json.member("cluster", each.row.cluster);
               json.member("id", each.row.id);
               json.member("address", each.row.address);
               text_member(json, "state", each.is_current && each.row.state != "unknown" ? each.row.state : "");
               seconds_member(json, "since", std::optional(each.row.since));
               seconds_member(json, "reported", each.at);
             });
  json.key("nodes").begin_array();
  for (const YarnNode& node : nodes) {
    const auto found = contested.find(node.name);
    write_yarn_node(json, node, found == contested.end() ? nullptr : found->second);
  }
  json.end_array().end_object();
  return out;
}

}  // namespace tidemark::console
