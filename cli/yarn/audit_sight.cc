// What stands in the API server and in a ResourceManager, as the auditor sees it.
#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "base/text.h"
#include "cli/yarn/audit.h"
#include "cli/yarn/audit_amounts.h"

namespace tidemark::cli {
namespace {

constexpr int kZoneScale = -3;  // zones carry thousandths of the node's units
constexpr std::string_view kYarnBook = "tidemark.io/yarn-book";
constexpr std::string_view kYarnThirdParty = "hadoop-yarn";
constexpr std::string_view kYarnOffer = "tidemark.io/yarn-offer";

AuditAmounts native(const Json* list, std::string& unreadable) {
  if (list == nullptr) return {};
  return {amount(list->member("cpu"), -3, unreadable).value_or(0),
          amount(list->member("memory"), 0, unreadable).value_or(0)};
}

// Who owns a field, by the API server's own book.
std::string writer_of(const Json& node, std::string_view outer, std::string_view list, std::string_view field) {
  const Json* fields = node.at("metadata", "managedFields");
  if (fields == nullptr || !fields->is_array()) return "";
  const std::string name = base::cat("f:", field);
  for (const Json& entry : fields->as_array()) {
    const Json* owned = entry.at("fieldsV1", outer, list);
    if (owned != nullptr && owned->member(name) != nullptr) return std::string(text(entry.member("manager")));
  }
  return "";
}

// The last writer of the list of zones, which is one field for the API server.
std::string writer_of_zones(const Json& topology) {
  const Json* fields = topology.at("metadata", "managedFields");
  if (fields == nullptr || !fields->is_array()) return "";
  for (const Json& entry : fields->as_array()) {
    if (entry.at("fieldsV1", "f:zones") != nullptr) return std::string(text(entry.member("manager")));
  }
  return "";
}

bool below_batch(std::string_view priority) {
  return priority == "koord-batch" || priority == "koord-free";
}

// An offer that cannot be read counts as none, a book that cannot be read as one that does not say what is held.
AuditYarn yarn_of(const Json& node, std::string& unreadable) {
  AuditYarn yarn;
  const Json offer = annotation(node, kYarnOffer, unreadable);
  yarn.offered = batch(offer.member("resources"), unreadable);
  yarn.up_to = batch(offer.member("upTo"), unreadable).value_or(AuditAmounts{});
  if (offer.is_object()) number(offer, "generation", yarn.offer_generation);
  yarn.has_book = node.at("metadata", "annotations", kYarnBook) != nullptr;
  const Json book = annotation(node, kYarnBook, unreadable);
  if (!book.is_object()) return yarn;
  number(book, "generation", yarn.book_generation);
  yarn.confirmed = batch(book.member("confirmed"), unreadable).value_or(AuditAmounts{});
  const Json* sold = book.member("sold");
  if (sold == nullptr || !sold->is_array()) return yarn;
  yarn.sold.emplace();
  for (const Json& each : sold->as_array()) {
    const AuditAmounts held = batch(each.member("resources"), unreadable).value_or(AuditAmounts{});
    *yarn.sold += held;
    yarn.sold_by_class[std::string(text(each.member("class")))] += held;
  }
  return yarn;
}

bool is_ready(const Json& node) {
  const Json* conditions = node.at("status", "conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::ranges::any_of(conditions->as_array(), [](const Json& each) {
    return each.text_at("type") == "Ready" && each.text_at("status") == "True";
  });
}

}  // namespace

AuditSight sight_of(const Json& node, const AuditSettings& settings) {
  AuditSight sight;
  sight.node = node.text_at("metadata", "name");
  sight.rules = settings.of(node);
  sight.capacity = native(node.at("status", "capacity"), sight.unreadable);
  const Json* allocatable = node.at("status", "allocatable");
  sight.allocatable = native(allocatable, sight.unreadable);
  sight.offered = batch(allocatable, sight.unreadable);
  if (sight.offered) sight.writer = writer_of(node, "f:status", "f:allocatable", kAuditBatchCpu);
  const Json* cordoned = node.at("spec", "unschedulable");
  sight.takes_no_work = !is_ready(node) || (cordoned != nullptr && cordoned->is_bool() && cordoned->as_bool());
  sight.yarn = yarn_of(node, sight.unreadable);
  if (sight.yarn.offered) sight.yarn_writer = writer_of(node, "f:metadata", "f:annotations", kYarnOffer);
  for (const std::string_view name : {kAuditBatchCpu, kAuditBatchMemory, std::string_view("kubernetes.io/mid-cpu"),
                                      std::string_view("kubernetes.io/mid-memory")}) {
    const Json* list = allocatable == nullptr ? nullptr : allocatable->member(name);
    if (amount(list, 0, sight.unreadable).value_or(0) < 0) sight.negative = true;
  }
  const Json origin = annotation(node, "node.koordinator.sh/originExtendedAllocatable", sight.unreadable);
  sight.origin = batch(origin.member("resources"), sight.unreadable);
  const Json others = annotation(node, "node.koordinator.sh/thirdPartyAllocations", sight.unreadable);
  if (const Json* list = others.member("allocations"); list != nullptr && list->is_array()) {
    for (const Json& each : list->as_array()) {
      if (text(each.member("priority")) != "koord-batch") continue;
      const AuditAmounts held =
          not_below_zero(batch(each.member("resources"), sight.unreadable).value_or(AuditAmounts{}));
      sight.third_party += held;
      if (text(each.member("name")) != kYarnThirdParty) sight.others += held;
    }
  }
  if (const auto ratio =
          base::parse_double(text(node.at("metadata", "annotations", "node.koordinator.sh/cpu-normalization-ratio")))) {
    sight.ratio = std::clamp(*ratio, 1.0, 5.0);
  }
  return sight;
}

AuditMetric read_metric(const Json& metric) {
  AuditMetric read;
  read.stamp = metric.text_at("status", "updateTime");
  // A negative use counts as 0.
  read.system_used =
      not_below_zero(native(metric.at("status", "nodeMetric", "systemUsage", "resources"), read.unreadable));
  if (const Json* used = metric.at("status", "podsMetric"); used != nullptr && used->is_array()) {
    for (const Json& pod : used->as_array()) {
      if (below_batch(text(pod.member("priority")))) continue;
      read.online_used += not_below_zero(native(pod.at("podUsage", "resources"), read.unreadable));
    }
  }
  return read;
}

void take_metric(AuditSight& sight, const AuditMetric& metric) {
  if (!metric.stamp.empty()) sight.stamp = metric.stamp;
  sight.system_used = metric.system_used;
  sight.online_used = metric.online_used;
  if (!metric.unreadable.empty()) sight.unreadable = metric.unreadable;
}

AuditZones read_zones(const Json& topology) {
  AuditZones read;
  const Json* zones = topology.member("zones");
  if (zones == nullptr || !zones->is_array()) return read;
  // The largest amount that a zone has of a resource: a scheduler may use any of the three.
  const auto most = [&](const Json& resource) {
    std::int64_t found = 0;
    for (const std::string_view key : {"capacity", "allocatable", "available"}) {
      found = std::max(found, amount(resource.member(key), kZoneScale, read.unreadable).value_or(0));
    }
    return found;
  };
  const auto add = [](std::int64_t& sum, std::int64_t more) {
    if (__builtin_add_overflow(sum, more, &sum)) sum = std::numeric_limits<std::int64_t>::max();
  };
  for (const Json& zone : zones->as_array()) {
    const Json* resources = zone.member("resources");
    if (resources == nullptr || !resources->is_array()) continue;
    for (const Json& each : resources->as_array()) {
      const std::string_view name = text(each.member("name"));
      if (name != kAuditBatchCpu && name != kAuditBatchMemory) continue;
      if (!read.offered) read.offered.emplace();
      add(name == kAuditBatchCpu ? read.offered->cpu : read.offered->memory, most(each));
    }
  }
  if (read.offered) read.writer = writer_of_zones(topology);
  return read;
}

void take_zones(AuditSight& sight, const AuditZones& zones) {
  sight.zones = zones.offered;
  sight.zones_writer = zones.writer;
  if (!zones.unreadable.empty()) sight.unreadable = zones.unreadable;
}

void take_rm(AuditSight& sight, const AuditRm& rm) {
  sight.rm = rm;
  sight.third_party = sum(larger(beyond(sight.third_party, sight.others), rm.used), sight.others);
  if (sight.yarn.has_book) sight.yarn.sold = rm.used;
}

Result<AuditPod> read_pod(std::string_view bytes) {
  AuditPod pod;
  std::string phase;
  base::JsonReader reader(bytes);
  const auto resources = [&](std::string_view key) {
    if (key != "requests") {
      reader.skip();
      return;
    }
    Json requests;
    if (reader.value(requests)) pod.sold += batch(&requests, pod.unreadable).value_or(AuditAmounts{});
  };
  const auto container = [&](std::string_view key) {
    if (key == "resources") {
      reader.object(resources);
    } else {
      reader.skip();
    }
  };
  const auto spec = [&](std::string_view key) {
    if (key == "nodeName") {
      reader.string(pod.node);
    } else if (key == "containers") {
      reader.array([&] { reader.object(container); });
    } else {
      reader.skip();
    }
  };
  const auto status = [&](std::string_view key) {
    if (key == "phase") {
      reader.string(phase);
    } else {
      reader.skip();
    }
  };
  reader.object([&](std::string_view key) {
    if (key == "spec") {
      reader.object(spec);
    } else if (key == "status") {
      reader.object(status);
    } else {
      reader.skip();
    }
  });
  TM_TRY_VOID(reader.finish());
  if (phase == "Succeeded" || phase == "Failed") pod.sold = {};
  return pod;
}

void take_pod(AuditSight& sight, const AuditPod& pod) {
  sight.sold += pod.sold;
  if (!pod.unreadable.empty()) sight.unreadable = pod.unreadable;
}

}  // namespace tidemark::cli
