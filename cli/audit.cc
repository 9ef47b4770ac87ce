#include "cli/audit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "base/yaml.h"
#include "model/quantity.h"

namespace tidemark::cli {
namespace {

using model::Reason;

constexpr std::string_view kBatchCpu = "kubernetes.io/batch-cpu";
constexpr std::string_view kBatchMemory = "kubernetes.io/batch-memory";
constexpr base::Duration kSlewMax = std::chrono::minutes(2);  // growth that is saved up while nothing moves

std::string_view text(const Json* value) {
  return value != nullptr && value->is_string() ? std::string_view(value->as_string()) : std::string_view();
}

// Thousandths (of cores) or whole units (bytes); nullopt where there is none.
std::optional<std::int64_t> amount(const Json* value, int scale, std::string& unreadable) {
  if (value == nullptr || value->is_null()) return std::nullopt;
  const std::string written = value->is_string() ? value->as_string() : value->dump();
  const auto quantity = model::Quantity::parse(written);
  if (!quantity) {
    unreadable = quantity.error().message;
    return std::nullopt;
  }
  return quantity->scaled_value_saturated(scale);
}

AuditAmounts native(const Json* list, std::string& unreadable) {
  if (list == nullptr) return {};
  return {amount(list->member("cpu"), -3, unreadable).value_or(0),
          amount(list->member("memory"), 0, unreadable).value_or(0)};
}

// batch-cpu counts milli-cores by itself.
std::optional<AuditAmounts> batch(const Json* list, std::string& unreadable) {
  if (list == nullptr) return std::nullopt;
  const auto cpu = amount(list->member(kBatchCpu), 0, unreadable);
  const auto memory = amount(list->member(kBatchMemory), 0, unreadable);
  if (!cpu && !memory) return std::nullopt;
  return AuditAmounts{cpu.value_or(0), memory.value_or(0)};
}

AuditAmounts& operator+=(AuditAmounts& to, const AuditAmounts& more) {
  to.cpu += more.cpu;
  to.memory += more.memory;
  return to;
}

// Text of an annotation as JSON; null where there is none.
Json annotation(const Json& node, std::string_view key, std::string& unreadable) {
  const Json* found = node.at("metadata", "annotations", key);
  if (found == nullptr) return {};
  auto parsed = Json::parse(text(found));
  if (parsed) return std::move(*parsed);
  unreadable = base::cat(key, ": ", parsed.error().message);
  return {};
}

enum class Match { kNo, kYes, kUnknown };

// Of matchLabels; expressions are left open.
Match matches(const Json* selector, const Json& node) {
  if (selector == nullptr || !selector->is_object()) return Match::kUnknown;
  if (const Json* labels = selector->member("matchLabels"); labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->as_object()) {
      if (text(node.at("metadata", "labels", key)) != text(&value)) return Match::kNo;
    }
  }
  return selector->member("matchExpressions") == nullptr ? Match::kYes : Match::kUnknown;
}

void number(const Json& from, std::string_view key, std::int64_t& into) {
  if (const Json* value = from.member(key)) into = value->get_int().value_or(into);
}

void take(const Json& from, AuditRules& rules) {
  if (!from.is_object()) return;
  number(from, "cpuReclaimThresholdPercent", rules.cpu_threshold_percent);
  number(from, "memoryReclaimThresholdPercent", rules.memory_threshold_percent);
  number(from, "degradeTimeMinutes", rules.degrade_minutes);
  if (const Json* value = from.member("resourceDiffThreshold"); value != nullptr && value->is_number()) {
    rules.diff_threshold = value->as_double();
  }
  if (const auto policy = text(from.member("memoryCalculatePolicy")); !policy.empty()) {
    rules.memory_by_use = policy != "request";
  }
}

AuditRules more_generous(AuditRules a, const AuditRules& b) {
  a.cpu_threshold_percent = std::max(a.cpu_threshold_percent, b.cpu_threshold_percent);
  a.memory_threshold_percent = std::max(a.memory_threshold_percent, b.memory_threshold_percent);
  a.degrade_minutes = std::max(a.degrade_minutes, b.degrade_minutes);
  a.diff_threshold = std::max(a.diff_threshold, b.diff_threshold);
  a.memory_by_use = a.memory_by_use && b.memory_by_use;
  a.decays = a.decays || b.decays;
  a.slewed = a.slewed && b.slewed;
  a.slew_permille_per_minute = std::max(a.slew_permille_per_minute, b.slew_permille_per_minute);
  a.dead_band_permille = std::max(a.dead_band_permille, b.dead_band_permille);
  return a;
}

// The first entry whose selector matches is taken over `rules`. Those before it that may match could be it as well, and
// where none matches for sure it may be none.
template <class Take>
AuditRules by_first_match(const Json* entries, const Json& node, const AuditRules& rules, const Take& take_entry) {
  std::optional<AuditRules> generous;
  const auto may_hold = [&generous](const AuditRules& each) {
    generous = generous ? more_generous(*generous, each) : each;
  };
  if (entries != nullptr && entries->is_array()) {
    for (const Json& entry : entries->as_array()) {
      const Match match = matches(entry.member("nodeSelector"), node);
      if (match == Match::kNo) continue;
      AuditRules merged = rules;
      take_entry(entry, merged);
      may_hold(merged);
      if (match == Match::kYes) return *generous;
    }
  }
  may_hold(rules);
  return *generous;
}

void label_percent(const Json& node, std::string_view key, std::int64_t& into) {
  const auto ratio = base::parse_double(text(node.at("metadata", "labels", key)));
  if (ratio && *ratio >= 0 && *ratio <= 10) into = static_cast<std::int64_t>(std::ceil(*ratio * 100));
}

// The pool's profile and motion; where a calendar moves the line, its highest line counts.
void take_ours(const Json& ours, const Json& node, AuditRules& rules) {
  if (!ours.is_object()) return;
  const auto take_pool = [](const Json& pool, AuditRules& into) {
    if (const auto profile = text(pool.member("profile")); !profile.empty()) {
      into.decays = into.slewed = profile == "tidemark";
    }
    if (const Json* motion = pool.member("motion"); motion != nullptr && motion->is_object()) {
      number(*motion, "slewPermillePerMinute", into.slew_permille_per_minute);
      number(*motion, "deadBandPermille", into.dead_band_permille);
    }
  };
  take_pool(ours, rules);
  rules = by_first_match(ours.member("pools"), node, rules, take_pool);
  const Json* calendars = ours.member("calendars");
  if (calendars == nullptr || !calendars->is_array()) return;
  for (const Json& calendar : calendars->as_array()) {
    const Json* entries = calendar.member("entries");
    if (entries == nullptr || !entries->is_array()) continue;
    for (const Json& entry : entries->as_array()) {
      std::int64_t cpu = 0;
      std::int64_t memory = 0;
      number(entry, "cpu", cpu);
      number(entry, "memory", memory);
      rules.cpu_threshold_percent = std::max(rules.cpu_threshold_percent, cpu);
      rules.memory_threshold_percent = std::max(rules.memory_threshold_percent, memory);
    }
  }
}

// Who owns the field in the node's status, by the API server's own book.
std::string writer_of(const Json& node) {
  const Json* fields = node.at("metadata", "managedFields");
  if (fields == nullptr || !fields->is_array()) return "";
  const std::string field = base::cat("f:", kBatchCpu);
  for (const Json& entry : fields->as_array()) {
    const Json* lists = entry.at("fieldsV1", "f:status", "f:allocatable");
    if (lists != nullptr && lists->member(field) != nullptr) return std::string(text(entry.member("manager")));
  }
  return "";
}

bool below_batch(std::string_view priority) {
  return priority == "koord-batch" || priority == "koord-free";
}

AuditAmounts beyond(const AuditAmounts& have, const AuditAmounts& most) {
  return {std::max<std::int64_t>(have.cpu - most.cpu, 0), std::max<std::int64_t>(have.memory - most.memory, 0)};
}

bool any(const AuditAmounts& amounts) {
  return amounts.cpu > 0 || amounts.memory > 0;
}

std::string show(const AuditAmounts& amounts) {
  return base::cat(amounts.cpu, "m and ", amounts.memory, " bytes");
}

std::int64_t times(std::int64_t value, double factor) {
  const double product = static_cast<double>(value) * factor;
  return product >= 9e18 ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(product);
}

Result<Json> colocation_in(const AuditTexts& texts) {
  if (!texts.colocation || texts.colocation->empty()) return Json();
  auto parsed = Json::parse(*texts.colocation);
  if (!parsed) return std::unexpected(std::move(parsed).error().within("colocation-config"));
  return parsed;
}

Result<Json> ours_in(const AuditTexts& texts) {
  if (!texts.ours || texts.ours->empty()) return Json();
  auto parsed = base::parse_yaml(*texts.ours);
  if (!parsed) return std::unexpected(std::move(parsed).error().within("tidemark-config"));
  return parsed;
}

std::optional<std::string> member_text(const Json& object, std::string_view key) {
  const Json* found = object.member(key);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return found->as_string();
}

// Of the revisions that the state of the roll-out has in force somewhere. Where it says what cannot be found, of all
// that are kept, except where it is one on all nodes, whose text may have been too large to keep.
std::vector<AuditTexts> stored_texts(const std::map<std::string, std::string, std::less<>>& stored) {
  std::map<std::string, AuditTexts> kept;  // by hash
  for (const auto& [key, value] : stored) {
    if (!key.starts_with("revision-")) continue;
    const auto revision = Json::parse(value);
    if (!revision) continue;
    AuditTexts texts;
    if (const Json* keys = revision->member("slo-controller-config"); keys != nullptr) {
      texts.colocation = member_text(*keys, "colocation-config");
    }
    texts.ours = member_text(*revision, "tidemark-config");
    kept.insert_or_assign(member_text(*revision, "hash").value_or(key), std::move(texts));
  }
  std::vector<AuditTexts> found;
  if (const auto at = stored.find("state"); at != stored.end()) {
    const auto state = Json::parse(at->second);
    const Json* layers = state ? state->member("layers") : nullptr;
    if (layers != nullptr && layers->is_array() && !layers->as_array().empty()) {
      for (const Json& layer : layers->as_array()) {
        const auto revision = kept.find(member_text(layer, "revision").value_or(""));
        if (revision != kept.end()) found.push_back(revision->second);
      }
      if (found.size() == layers->as_array().size() || layers->as_array().size() == 1) return found;
      found.clear();
    }
  }
  for (const auto& [hash, texts] : kept) found.push_back(texts);
  return found;
}

}  // namespace

Result<AuditSettings> AuditSettings::read(const AuditTexts& live,
                                          const std::map<std::string, std::string, std::less<>>& stored) {
  AuditSettings settings;
  for (const AuditTexts& texts : stored_texts(stored)) {
    auto colocation = colocation_in(texts);
    auto ours = ours_in(texts);
    if (colocation && ours) settings.layers_.push_back({std::move(*colocation), std::move(*ours)});
  }
  const bool all_there_is = settings.layers_.empty();
  auto colocation = colocation_in(live);
  if (!colocation && all_there_is) return std::unexpected(std::move(colocation).error());
  auto ours = ours_in(live);
  if (!ours && all_there_is) return std::unexpected(std::move(ours).error());
  if (colocation && ours) settings.layers_.push_back({std::move(*colocation), std::move(*ours)});
  return settings;
}

void AuditSettings::take_overrides(std::optional<std::string_view> written, base::WallTime now) {
  const auto read = written ? Json::parse(*written) : Result<Json>(Json());
  if (!read) return;
  if (const Json* cluster = read->member("cluster")) take_override(*cluster, now);
  if (const Json* pools = read->member("pools"); pools != nullptr && pools->is_array()) {
    for (const Json& pool : pools->as_array()) take_override(pool, now);
  }
}

void AuditSettings::take_override(const Json& line, base::WallTime now) {
  const auto until = base::parse_rfc3339(text(line.member("until")));
  if (!line.is_object() || !until || *until <= now) return;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  number(line, "cpu", cpu);
  number(line, "memory", memory);
  override_cpu_percent_ = std::max(override_cpu_percent_, cpu);
  override_memory_percent_ = std::max(override_memory_percent_, memory);
}

AuditRules AuditSettings::of(const Json& node) const {
  std::optional<AuditRules> generous;
  for (const Layer& layer : layers_) {
    AuditRules rules;
    take(layer.colocation, rules);
    rules = by_first_match(layer.colocation.member("nodeConfigs"), node, rules, take);
    std::string ignored;
    take(annotation(node, "node.koordinator.sh/colocation-strategy", ignored), rules);
    label_percent(node, "node.koordinator.sh/cpu-reclaim-ratio", rules.cpu_threshold_percent);
    label_percent(node, "node.koordinator.sh/memory-reclaim-ratio", rules.memory_threshold_percent);
    take_ours(layer.ours, node, rules);
    generous = generous ? more_generous(*generous, rules) : rules;
  }
  AuditRules rules = generous.value_or(AuditRules());
  rules.cpu_threshold_percent = std::max(rules.cpu_threshold_percent, override_cpu_percent_);
  rules.memory_threshold_percent = std::max(rules.memory_threshold_percent, override_memory_percent_);
  return rules;
}

AuditSight sight_of(const Json& node, const AuditSettings& settings) {
  AuditSight sight;
  sight.node = node.text_at("metadata", "name");
  sight.rules = settings.of(node);
  sight.capacity = native(node.at("status", "capacity"), sight.unreadable);
  const Json* allocatable = node.at("status", "allocatable");
  sight.allocatable = native(allocatable, sight.unreadable);
  sight.offered = batch(allocatable, sight.unreadable);
  if (sight.offered) sight.writer = writer_of(node);
  for (const std::string_view name : {kBatchCpu, kBatchMemory, std::string_view("kubernetes.io/mid-cpu"),
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
      sight.third_party += batch(each.member("resources"), sight.unreadable).value_or(AuditAmounts{});
    }
  }
  if (const auto ratio =
          base::parse_double(text(node.at("metadata", "annotations", "node.koordinator.sh/cpu-normalization-ratio")))) {
    sight.ratio = std::clamp(*ratio, 1.0, 5.0);
  }
  return sight;
}

void take_metric(AuditSight& sight, const Json& metric) {
  const auto stamp = metric.text_at("status", "updateTime");
  if (!stamp.empty()) sight.stamp = stamp;
  sight.system_used = native(metric.at("status", "nodeMetric", "systemUsage", "resources"), sight.unreadable);
  sight.online_used = {};
  if (const Json* used = metric.at("status", "podsMetric"); used != nullptr && used->is_array()) {
    for (const Json& pod : used->as_array()) {
      if (below_batch(text(pod.member("priority")))) continue;
      sight.online_used += native(pod.at("podUsage", "resources"), sight.unreadable);
    }
  }
}

void drop_metric(AuditSight& sight) {
  sight.stamp.reset();
  sight.system_used = {};
  sight.online_used = {};
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

AuditAmounts ceiling_of(const AuditSight& sight) {
  const auto one = [](std::int64_t capacity, std::int64_t allocatable, std::int64_t percent, std::int64_t system,
                      std::int64_t online, bool by_use) {
    const std::int64_t line = times(capacity, static_cast<double>(percent) / 100);
    if (!by_use) return std::max<std::int64_t>(line, 0);
    return std::max<std::int64_t>(line - std::max(system, capacity - allocatable) - online, 0);
  };
  AuditAmounts most{one(sight.capacity.cpu, sight.allocatable.cpu, sight.rules.cpu_threshold_percent,
                        sight.system_used.cpu, sight.online_used.cpu, sight.rules.cpu_by_use),
                    one(sight.capacity.memory, sight.allocatable.memory, sight.rules.memory_threshold_percent,
                        sight.system_used.memory, sight.online_used.memory, sight.rules.memory_by_use)};
  most.cpu = times(most.cpu, sight.ratio) + 1;  // what is rounded up to a milli-core
  most.memory += 1;
  return most;
}

bool is_mistake(Reason reason) {
  switch (reason) {
    case Reason::kAuditNegative:
    case Reason::kAuditAboveCeiling:
    case Reason::kAuditSoldTwice:
    case Reason::kAuditStaleGrowth:
    case Reason::kAuditStaleOffer:
    case Reason::kAuditGrowthTooFast:
    case Reason::kAuditForeignWriter:
      return true;
    default:
      return false;
  }
}

std::vector<Auditor::Excess> Auditor::excesses(const AuditSight& sight, const Seen* before, base::MonotonicTime now,
                                               base::WallTime wall) const {
  std::vector<Excess> found;
  if (!sight.unreadable.empty()) found.push_back({Reason::kAuditUnreadable, {}, sight.unreadable});
  if (sight.negative) found.push_back({Reason::kAuditNegative, {1, 1}, "below 0"});
  if (!sight.offered) return found;
  const AuditAmounts& offered = *sight.offered;
  const AuditAmounts tolerated{times(offered.cpu, sight.rules.diff_threshold),
                               times(offered.memory, sight.rules.diff_threshold)};

  // The same thing sold on both sides: what Kubernetes is told, and what YARN holds, of one origin.
  if (sight.origin) {
    AuditAmounts both = offered;
    both += sight.third_party;
    AuditAmounts over = beyond(both, *sight.origin);
    // What YARN holds above the origin is no offer of Kubernetes' side.
    over = {std::min(over.cpu, std::max<std::int64_t>(offered.cpu, 0)),
            std::min(over.memory, std::max<std::int64_t>(offered.memory, 0))};
    if (any(over) && any(sight.third_party)) {
      const bool small = over.cpu <= tolerated.cpu && over.memory <= tolerated.memory;
      found.push_back({small ? Reason::kAuditUsageRose : Reason::kAuditSoldTwice, over,
                       base::cat("offered ", show(offered), ", YARN holds ", show(sight.third_party), ", of ",
                                 show(*sight.origin))});
    }
  }
  if (const AuditAmounts most = ceiling_of(sight); sight.stamp) {
    AuditAmounts all = offered;
    if (sight.origin) all = {std::max(all.cpu, sight.origin->cpu), std::max(all.memory, sight.origin->memory)};
    const AuditAmounts over = beyond(all, most);
    if (any(over)) {
      const bool small = over.cpu <= tolerated.cpu && over.memory <= tolerated.memory;
      found.push_back({small ? Reason::kAuditUsageRose : Reason::kAuditAboveCeiling, over,
                       base::cat("offered ", show(all), " of ", show(most), " under the line")});
    }
  }
  // Reports: by their stamp where a clock can be believed, by their standing still where it cannot.
  const auto stamp = sight.stamp ? base::parse_rfc3339(*sight.stamp) : std::nullopt;
  const base::Duration degrade =
      std::chrono::minutes(std::clamp<std::int64_t>(sight.rules.degrade_minutes, 0, 1 << 20));
  const bool stale = !stamp || wall.since_epoch - stamp->since_epoch > degrade;
  if (stale && !sight.rules.decays && any(offered)) {
    found.push_back({Reason::kAuditStaleOffer, offered, base::cat("last report ", sight.stamp.value_or("never"))});
  }
  if (before == nullptr || !before->sight.offered) return found;
  const AuditAmounts was = before->sight.origin.value_or(*before->sight.offered);
  const AuditAmounts is = sight.origin.value_or(offered);
  const AuditAmounts grown = beyond(is, was);
  if (any(grown) && stale && before->sight.stamp == sight.stamp) {
    found.push_back({Reason::kAuditStaleGrowth, grown, base::cat("from ", show(was), " to ", show(is))});
  }
  if (any(grown) && sight.rules.slewed) {
    const base::Duration saved = std::min<base::Duration>(now - before->offered_at + options_.lag, kSlewMax);
    const double minutes = static_cast<double>(saved.count()) / 6e10;
    const double share = (static_cast<double>(sight.rules.slew_permille_per_minute) * minutes +
                          static_cast<double>(sight.rules.dead_band_permille)) /
                         1000;
    const AuditAmounts reach{times(sight.capacity.cpu, share), times(sight.capacity.memory, share)};
    if (const AuditAmounts over = beyond(grown, reach); any(over)) {
      found.push_back(
          {Reason::kAuditGrowthTooFast, over, base::cat("grew by ", show(grown), ", allowed ", show(reach))});
    }
  }
  return found;
}

void Auditor::note(const AuditSight& sight, const Excess& excess, base::Duration elapsed) {
  AuditFinding& finding = findings_[{sight.node, excess.reason}];
  finding.reason = excess.reason;
  finding.node = sight.node;
  ++finding.looks;
  const double seconds = static_cast<double>(elapsed.count()) / 1e9;
  finding.cpu_core_s += static_cast<double>(excess.amount.cpu) / 1000 * seconds;
  finding.memory_gib_s += static_cast<double>(excess.amount.memory) / (1 << 30) * seconds;
  if (finding.example.empty() || excess.amount.cpu > finding.worst.cpu) finding.example = excess.example;
  finding.worst.cpu = std::max(finding.worst.cpu, excess.amount.cpu);
  finding.worst.memory = std::max(finding.worst.memory, excess.amount.memory);
}

void Auditor::look(const std::vector<AuditSight>& sights, base::MonotonicTime now, base::WallTime wall) {
  const base::Duration elapsed = last_look_ ? now - *last_look_ : base::Duration(0);
  last_look_ = now;
  ++looks_;
  for (const AuditSight& sight : sights) {
    const auto at = nodes_.find(sight.node);
    const bool first = at == nodes_.end();
    const auto found = excesses(sight, first ? nullptr : &at->second, now, wall);
    Seen& seen = nodes_[sight.node];
    if (first || seen.sight.origin != sight.origin) seen.offered_at = now;
    seen.sight = sight;
    std::map<Reason, base::MonotonicTime> since;
    for (const Excess& excess : found) {
      const auto begun = seen.since.find(excess.reason);
      since[excess.reason] = begun == seen.since.end() ? now : begun->second;
      Excess told = excess;
      // Growth is a deed and counts at once, negative too; a state may last as long as it takes to follow.
      const bool at_once = excess.reason == Reason::kAuditNegative || excess.reason == Reason::kAuditStaleGrowth ||
                           excess.reason == Reason::kAuditGrowthTooFast || !is_mistake(excess.reason);
      const bool ours = sight.writer.starts_with(options_.writer);
      if (!at_once && now - since[excess.reason] < options_.lag) {
        told.reason = Reason::kAuditFollowing;
      } else if (is_mistake(excess.reason) && !ours && !sight.writer.empty()) {
        told.reason = Reason::kAuditForeignWriter;
        told.example = base::cat(model::reason_id(excess.reason), " by ", sight.writer, ": ", excess.example);
      }
      note(sight, told, elapsed);
    }
    // Work that runs on after a cut is no mistake: it is told beside.
    const AuditAmounts yarn_over = beyond(sight.third_party, sight.origin.value_or(AuditAmounts{}));
    const AuditAmounts offered = sight.offered.value_or(AuditAmounts{});
    AuditAmounts over =
        beyond(sight.sold, {std::max<std::int64_t>(offered.cpu, 0), std::max<std::int64_t>(offered.memory, 0)});
    over += yarn_over;
    if (any(over)) {
      note(sight,
           {Reason::kAuditOriginDropped, over,
            base::cat("pods hold ", show(sight.sold), ", YARN ", show(sight.third_party), ", offered ",
                      show(sight.offered.value_or(AuditAmounts{})))},
           elapsed);
    }
    seen.since = std::move(since);
  }
}

std::vector<AuditFinding> Auditor::findings() const {
  std::vector<AuditFinding> all;
  for (const auto& [key, finding] : findings_) all.push_back(finding);
  std::sort(all.begin(), all.end(), [](const AuditFinding& a, const AuditFinding& b) {
    if (is_mistake(a.reason) != is_mistake(b.reason)) return is_mistake(a.reason);
    if (a.reason != b.reason) return a.reason < b.reason;
    if (a.worst.cpu != b.worst.cpu) return a.worst.cpu > b.worst.cpu;
    return a.node < b.node;
  });
  return all;
}

}  // namespace tidemark::cli
