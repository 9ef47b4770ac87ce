#include "policy/evict/budget/grants.h"

#include <algorithm>
#include <utility>

namespace tidemark::policy::evict {
namespace {

using model::Reason;

constexpr std::int64_t kPerHourMax = 1'000'000'000;
constexpr std::string_view kToldAs = "evictions";

std::int64_t operator_part(std::int64_t limit) {
  return limit < 2 ? 0 : std::max<std::int64_t>(limit / kOperatorPart, 1);
}

// The end of a grant, rounded to the second as published.
base::WallTime end_of(base::WallTime now) {
  return {std::chrono::floor<std::chrono::seconds>((now + kGrantValid).since_epoch)};
}

std::optional<model::EvictionGrant> merged(const std::optional<model::EvictionGrant>& before,
                                           const model::EvictionGrant& last, std::int64_t now_per_hour,
                                           base::WallTime at) {
  std::optional<model::EvictionGrant> out;
  // An older grant that is not larger than the new one is irrelevant.
  if (before && before->per_hour > now_per_hour && before->counts(at)) out = before;
  if (last.per_hour > now_per_hour && last.counts(at)) {
    if (!out) {
      out = last;
    } else {
      out = model::EvictionGrant{std::max(out->per_hour, last.per_hour), std::max(out->until, last.until)};
    }
  }
  return out;
}

void write(base::JsonWriter& json, const model::EvictionGrant& grant) {
  json.begin_object().member("perHour", grant.per_hour).member("until", base::format_rfc3339(grant.until)).end_object();
}

std::optional<model::EvictionGrant> read(const Json* value) {
  if (value == nullptr || !value->is_object()) return std::nullopt;
  const Json* per_hour = value->member("perHour");
  const auto until = base::parse_rfc3339(value->text_at("until"));
  if (per_hour == nullptr || !until) return std::nullopt;
  const auto number = per_hour->get_int();
  if (!number || *number < 0 || *number > kPerHourMax) return std::nullopt;
  return model::EvictionGrant{*number, *until};
}

}  // namespace

std::int64_t held(const GrantBook& book, base::WallTime at) {
  std::int64_t sum = 0;
  for (const auto& [node, grant] : book) sum += grant.held(at);
  return sum;
}

std::int64_t size_class(std::int64_t nodes) {
  std::int64_t size = 1;
  while (size < nodes) size = std::max(size + 1, size + size / 4);
  return size;
}

GrantStep grant(const GrantBook& book, std::span<const std::string> nodes, std::optional<std::int64_t> limit,
                base::WallTime now, bool yarn_operator) {
  GrantStep out;
  for (const auto& [node, grant] : book) {
    if (grant.held(now) > 0) out.book.emplace(node, grant);
  }
  if (!limit || nodes.empty()) return out;
  const std::int64_t most = std::clamp<std::int64_t>(*limit, 0, kPerHourMax);
  const std::int64_t of_operator = yarn_operator ? operator_part(most) : 0;
  const std::int64_t of_node =
      std::max<std::int64_t>((most - of_operator) / size_class(static_cast<std::int64_t>(nodes.size())), 1);
  std::vector<std::string_view> sorted(nodes.begin(), nodes.end());
  if (yarn_operator) sorted.push_back(kOperatorHolder);
  std::ranges::sort(sorted);
  sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
  std::int64_t all = held(out.book, now);
  // Cuts first: their room is free later, and no other holder takes what must be extended.
  for (const bool growing : {false, true}) {
    for (const auto name : sorted) {
      const std::int64_t part = name == kOperatorHolder ? of_operator : of_node;
      const auto at = out.book.find(name);
      const model::NodeGrant known = at == out.book.end() ? model::NodeGrant() : at->second;
      const bool in_force = known.now.per_hour > 0 && now < known.now.until;
      const bool grows = !in_force || part > known.now.per_hour;
      if (grows != growing) continue;
      const bool due = known.now.until - now < kGrantValid / 2;
      const std::int64_t own = known.held(now);
      // A cut needs no room. An extension does: if the limit was lowered below one for each holder, not all can keep
      // theirs.
      const std::int64_t room = std::max<std::int64_t>(most - (all - own), 0);
      const std::int64_t size = part < known.now.per_hour ? part : std::min(part, room);
      // Do not grow to a part of its share while others hold the rest: that would cost one more write.
      if (in_force && grows && size < part && !due) continue;
      if (in_force && !grows && part == known.now.per_hour && !due) continue;
      if (size < 1) {
        out.changes.push_back({std::string(name), Reason::kBudgetNoRoom});
        continue;
      }
      model::NodeGrant next{{size, end_of(now)}, merged(known.before, known.now, size, now)};
      all += next.held(now) - own;
      const Reason reason = !in_force                    ? Reason::kBudgetGranted
                            : size < known.now.per_hour  ? Reason::kBudgetGrantCut
                            : size == known.now.per_hour ? Reason::kBudgetGrantRenewed
                                                         : Reason::kBudgetGranted;
      out.changes.push_back({std::string(name), reason});
      out.book.insert_or_assign(std::string(name), std::move(next));
    }
  }
  return out;
}

void write_grant(base::JsonWriter& json, std::string_view key, const model::NodeGrant& grant) {
  json.key(key).begin_object().member("perHour", grant.now.per_hour);
  json.member("until", base::format_rfc3339(grant.now.until));
  if (grant.before) {
    json.key("before");
    write(json, *grant.before);
  }
  json.end_object();
}

void write_grant(base::JsonWriter& json, const model::NodeGrant& grant) {
  write_grant(json, kToldAs, grant);
}

Result<model::NodeGrant> read_grant(const Json& told) {
  const Json* schema = told.member("schema");
  const std::int64_t written = schema == nullptr ? 0 : schema->get_int().value_or(0);
  if (written != kGrantSchema) {
    return fail(ErrorKind::kUnsupported, "written with schema ", written, "; this version reads ", kGrantSchema);
  }
  return read_grant(told, kToldAs);
}

Result<model::NodeGrant> read_grant(const Json& of, std::string_view key) {
  const auto now = read(of.member(key));
  if (!now) return fail(ErrorKind::kInvalid, key, " is missing or not what it should be");
  return model::NodeGrant{*now, read(of.at(key, "before"))};
}

}  // namespace tidemark::policy::evict
