#include "policy/explain/rollout_text.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;
using model::Reason;

constexpr std::int64_t kRevisionsSchema = 1;

std::string reason_words(Reason reason) {
  return cat(model::reason_sentence(reason), " [", model::reason_id(reason), "]");
}

// Whole seconds are enough for an age.
std::string span(base::Duration duration) {
  return base::format_go_duration(std::chrono::floor<std::chrono::seconds>(std::max(duration, base::Duration(0))));
}

std::string hold_text(const settings::Hold& hold) {
  if (hold.reason == Reason::kRolloutEvictionSpike) {
    return cat(hold.evictions, " evictions in pool ", hold.pool, ", ", hold.allowed, " allowed");
  }
  return hold.until ? cat("until ", base::format_rfc3339(*hold.until)) : std::string();
}

// How far a layer reaches, in words.
std::string reach(const settings::RolloutState& state, std::size_t index) {
  const settings::Layer& layer = state.layers[index];
  if (state.layers.size() == 1) return "every node";
  if (index == 0) return "nodes without a newer one";
  const auto part = [](const settings::NodeMark& mark) -> std::string_view {
    return mark.empty() ? "none" : mark == settings::kAllNodes ? "all" : "some";
  };
  return cat(part(layer.canaries), " of the canary nodes, ", part(layer.others), " of the others");
}

void append_table(std::string& out, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - row[i].size() + 2, ' ');
    }
    out += '\n';
  }
}

}  // namespace

std::string_view rollout_phase_text(settings::Phase phase) {
  constexpr std::array<std::string_view, 4> kTexts{"settled", "canary nodes get it", "canary nodes run it, soaking",
                                                   "the other nodes get it"};
  return kTexts[static_cast<std::size_t>(phase)];
}

std::string revision_name(const settings::RevisionBook& book, std::string_view hash) {
  const auto* found = settings::find_revision(book, hash);
  return found == nullptr ? std::string(hash) : cat(found->number, " (", hash, ")");
}

std::string render_text(Reason reason, const settings::RolloutState& state, const settings::RevisionBook& book,
                        const settings::RolloutPlan& plan) {
  std::string text =
      cat("revision ", state.layers.empty() ? "" : revision_name(book, state.target()), ": ", reason_words(reason));
  if (reason == Reason::kRolloutEvictionSpike && state.hold) text += cat(": ", hold_text(*state.hold));
  if (reason == Reason::kRolloutHeld && state.hold && state.hold->until) text += cat(": ", hold_text(*state.hold));
  if (plan.waiting > 0) text += cat("; ", plan.waiting, " nodes do not run it yet");
  return text;
}

std::string render_text(const waterline::PoolOverlap& overlap) {
  return cat(overlap.nodes, " nodes of pool ", overlap.pool, " match pool ", overlap.also, " too, for example ",
             overlap.example.value, " [", model::reason_id(Reason::kPoolOverlap), "]");
}

std::string_view event_reason(Reason reason) {
  switch (reason) {
    case Reason::kRolloutBegun:
      return "SettingsRolloutBegun";
    case Reason::kRolloutCanary:
    case Reason::kRolloutSoaking:
    case Reason::kRolloutFleet:
    case Reason::kRolloutResumed:
      return "SettingsRolloutGoesOn";
    case Reason::kRolloutDone:
      return "SettingsRolledOut";
    case Reason::kRolloutEvictionSpike:
    case Reason::kRolloutHeld:
    case Reason::kRolloutBlind:
      return "SettingsRolloutHeld";
    case Reason::kRolloutTooMany:
    case Reason::kRolloutTooLarge:
      return "SettingsNotTaken";
    case Reason::kPoolOverlap:
      return "PoolsOverlap";
    default:
      return "SettingsInForce";
  }
}

std::string render_text(const settings::Stored& stored, base::WallTime now) {
  std::string out;
  if (!stored.state || stored.state->layers.empty()) {
    out += "no revision yet: no manager has stored its settings\n";
  } else {
    const settings::RolloutState& state = *stored.state;
    if (state.layers.size() == 1) {
      out += cat("in force on every node: revision ", revision_name(stored.book, state.target()), "\n");
    } else {
      out += cat("being rolled out: revision ", revision_name(stored.book, state.target()), ", ",
                 rollout_phase_text(state.phase), ", for ", span(now - state.began), "\n");
    }
    if (state.hold) {
      const std::string more = hold_text(*state.hold);
      out += cat("paused for ", span(now - state.hold->since), ": ", reason_words(state.hold->reason),
                 more.empty() ? "" : ": ", more, "\n");
    }
  }
  std::vector<std::vector<std::string>> rows{{"REVISION", "HASH", "AGE", "WAS EVERYWHERE", "IN FORCE ON"}};
  for (auto revision = stored.book.rbegin(); revision != stored.book.rend(); ++revision) {
    std::string where;
    if (stored.state) {
      for (std::size_t i = 0; i < stored.state->layers.size(); ++i) {
        if (stored.state->layers[i].revision == revision->hash) where = reach(*stored.state, i);
      }
    }
    rows.push_back({cat(revision->number), revision->hash, span(now - revision->taken),
                    revision->completed ? "yes" : "no", where.empty() ? "-" : where});
  }
  append_table(out, rows);
  if (!stored.problem.empty()) out += cat("not read: ", stored.problem, "\n");
  return out;
}

Json render_json(const settings::Stored& stored) {
  Json out = Json::object({{"schema", kRevisionsSchema}});
  if (stored.state) {
    out["state"] = *Json::parse(settings::encode_state(*stored.state));
  } else {
    out["state"] = Json(nullptr);
  }
  Json revisions = Json::array();
  for (const auto& revision : stored.book)
    revisions.as_array().push_back(*Json::parse(settings::encode_revision(revision)));
  out["revisions"] = std::move(revisions);
  out["problem"] = Json(stored.problem);
  return out;
}

}  // namespace tidemark::policy::explain
