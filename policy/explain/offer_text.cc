#include "policy/explain/offer_text.h"

#include <array>

#include "base/clock.h"
#include "base/text.h"
#include "policy/explain/overcommit_text.h"
#include "policy/explain/override_text.h"
#include "policy/explain/why.h"
#include "policy/waterline/pools.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;

constexpr std::array<std::string_view, 6> kLinePhases{"base line", "rising", "open", "falling", "frozen", "overridden"};
constexpr std::array<std::string_view, 5> kFreshness{"fresh", "unconfirmed", "held", "decaying", "forgotten"};

template <std::size_t Size, class Enum>
std::string_view word(const std::array<std::string_view, Size>& words, Enum value) {
  return words.at(static_cast<std::size_t>(value));
}

std::string entry_name(const model::LineTerms& terms, const OfferNames& names) {
  if (!terms.entry || names.calendar == nullptr || *terms.entry >= names.calendar->entries.size()) return "";
  return names.calendar->entries[*terms.entry].name;
}

std::string line_text(std::string_view what, const model::LineTerms& terms, const OfferNames& names) {
  std::string out = cat("  ", what, ": ", terms.sell, " % may be sold");
  if (terms.hold != terms.sell) out += cat(", ", terms.hold, " % for running work");
  if (terms.base != terms.hold) out += cat(", ", terms.base, " % without the calendar");
  const std::string entry = entry_name(terms, names);
  if (!entry.empty()) out += cat(", ", entry, " (", word(kLinePhases, terms.phase), ")");
  return cat(out, ": ", why(terms.reason), "\n");
}

template <class Amount>
std::string motion_text(std::string_view what, const sell::Motion<Amount>& motion) {
  return cat("  ", what, ": ", amount_text(motion.offered), ": ", why(motion.reason), "\n");
}

std::string_view class_name(const std::string& work_class) {
  return work_class.empty() ? std::string_view("no class") : std::string_view(work_class);
}

model::Reason told_by(std::int64_t entry) {
  return entry == 0 ? model::Reason::kLedgerToldBySide : model::Reason::kLedgerToldByEntry;
}

template <class Amount>
std::string classes_text(const sell::SideTerms<Amount>& terms) {
  std::string out;
  for (const auto& each : terms.classes) {
    if (each.told.value == 0) continue;
    out += cat("    ", class_name(each.work_class), each.waits ? ", free: " : ", held: ", amount_text(each.told),
               " offered at ", each.percent, " %, ", amount_text(each.real), " real",
               each.entry == 0 ? std::string() : cat(", entry ", each.entry), ": ", why(told_by(each.entry)), "\n");
  }
  return out;
}

std::string reclaim_text(std::string_view side, const std::vector<sell::ClassReclaim>& reclaim) {
  std::string out;
  for (const auto& each : reclaim) {
    out += cat("  ", side, " must release ", amount_text(each.amount.cpu), " and ", amount_text(each.amount.memory),
               " of ", class_name(each.work_class), ", keeps ", amount_text(each.keep.cpu), " and ",
               amount_text(each.keep.memory), ": ", why(each.reason), "\n");
  }
  return out;
}

template <class Amount>
std::string side_text(std::string_view what, const sell::SideTerms<Amount>& terms) {
  std::string out = cat("  ", what, ": ", amount_text(terms.offer));
  if (terms.offer != terms.real) out += cat(" offered, ", amount_text(terms.real), " real");
  if (terms.taken.value > 0) out += cat(", ", amount_text(terms.taken), " subtracted");
  if (terms.reclaim.value > 0) out += cat(", ", amount_text(terms.reclaim), " to be reclaimed from the other side");
  return cat(out, ": ", why(terms.reason), "\n", classes_text(terms));
}

Json reason_json(model::Reason reason) {
  return Json::object({{"id", Json(model::reason_id(reason))}, {"sentence", Json(model::reason_sentence(reason))}});
}

Json line_json(const model::LineTerms& terms, const OfferNames& names) {
  Json out = Json::object({{"basePercent", terms.base},
                           {"holdPercent", terms.hold},
                           {"sellPercent", terms.sell},
                           {"phase", Json(word(kLinePhases, terms.phase))},
                           {"reason", reason_json(terms.reason)}});
  if (const std::string entry = entry_name(terms, names); !entry.empty()) out["entry"] = Json(entry);
  return out;
}

template <class Amount>
Json motion_json(const sell::Motion<Amount>& motion) {
  return Json::object({{"offered", motion.offered.value}, {"reason", reason_json(motion.reason)}});
}

template <class Amount>
Json terms_json(const sell::SideTerms<Amount>& terms) {
  Json out = Json::object({{"held", terms.held.value},
                           {"taken", terms.taken.value},
                           {"real", terms.real.value},
                           {"offer", terms.offer.value},
                           {"reclaim", terms.reclaim.value},
                           {"reason", reason_json(terms.reason)}});
  if (terms.classes.empty()) return out;
  Json classes = Json::array();
  for (const auto& each : terms.classes) {
    classes.as_array().push_back(Json::object({{"class", Json(each.work_class)},
                                               {"waits", Json(each.waits)},
                                               {"told", each.told.value},
                                               {"real", each.real.value},
                                               {"percent", each.percent},
                                               {"entry", each.entry},
                                               {"reason", reason_json(told_by(each.entry))}}));
  }
  out["classes"] = std::move(classes);
  return out;
}

Json amounts_json(const model::Resources& amount) {
  return Json::object({{"cpu", amount.cpu.value}, {"memory", amount.memory.value}});
}

Json reclaim_json(const std::vector<sell::ClassReclaim>& reclaim) {
  Json out = Json::array();
  for (const auto& each : reclaim) {
    out.as_array().push_back(Json::object({{"class", Json(each.work_class)},
                                           {"amount", amounts_json(each.amount)},
                                           {"keep", amounts_json(each.keep)},
                                           {"reason", reason_json(each.reason)}}));
  }
  return out;
}

Json side_json(const sell::SidePlan& side) {
  Json out = Json::object({{"cpu", terms_json(side.cpu)}, {"memory", terms_json(side.memory)}});
  if (!side.reclaim.empty()) out["reclaim"] = reclaim_json(side.reclaim);
  return out;
}

// The reason "fits" needs no text.
std::string arbitrate_text(const sell::ArbitratePlan& verdict) {
  if (verdict.reason == model::Reason::kArbitrateFits) return "";
  std::string out = cat("arbitration: ", why(verdict.reason), "\n");
  if (!verdict.held) return out + "  the held amount is unknown now\n";
  out += cat("  cpu: ", amount_text(verdict.held->cpu), " held of ", amount_text(verdict.gives.cpu), "\n");
  return out +
         cat("  memory: ", amount_text(verdict.held->memory), " held of ", amount_text(verdict.gives.memory), "\n");
}

// Rounded up: it is not over yet.
std::chrono::seconds whole(base::Duration left) {
  return std::chrono::ceil<std::chrono::seconds>(left);
}

std::string stop_text(model::Reason reason, const sell::StopTerms& terms) {
  std::string out = cat("evictions: ", why(reason), "\n");
  out += cat("  cpu: ", amount_text(terms.sold.cpu), " sold to pods, ", amount_text(terms.yarn.cpu), " held by YARN, ",
             amount_text(terms.wanted.cpu), " without the stop\n");
  out += cat("  memory: ", amount_text(terms.sold.memory), " sold to pods, ", amount_text(terms.yarn.memory),
             " held by YARN, ", amount_text(terms.wanted.memory), " without the stop\n");
  return out;
}

std::string back_off_text(const sell::BackOffLeft& left) {
  std::string out;
  const auto add = [&out](std::string_view side, const std::optional<base::Duration>& more) {
    if (more)
      out += cat("  ", side, " lost work: backs off for another ", base::format_go_duration(whole(*more)), "\n");
  };
  add("kubernetes", left.kubernetes);
  add("yarn", left.yarn);
  return out;
}

Json back_off_json(const sell::BackOffLeft& left) {
  Json out = Json::object();
  if (left.kubernetes) out["kubernetes"] = Json(whole(*left.kubernetes).count());
  if (left.yarn) out["yarn"] = Json(whole(*left.yarn).count());
  return out;
}

Json stop_json(model::Reason reason, const sell::StopTerms& terms) {
  return Json::object({{"reason", reason_json(reason)},
                       {"sold", amounts_json(terms.sold)},
                       {"yarn", amounts_json(terms.yarn)},
                       {"without", amounts_json(terms.wanted)}});
}

}  // namespace

std::string render_text(const sell::Offer& offer, const OfferNames& names) {
  std::string out;
  if (names.profile != model::Profile::kKoordinator) out += cat("profile ", to_string(names.profile), "\n");
  if (offer.line) {
    out += names.calendar == nullptr
               ? std::string("water line:\n")
               : cat("water line by calendar ", names.calendar->name, " (", names.calendar->zone.name(), "):\n");
    out += line_text("cpu", offer.line->cpu, names);
    out += line_text("memory", offer.line->memory, names);
    if (names.overrides != nullptr) {
      for (const auto& each : *names.overrides) out += cat("  overridden: ", override_text(each), "\n");
    }
    if (offer.line->changes_at) out += cat("  changes at ", base::format_rfc3339(*offer.line->changes_at), "\n");
  }
  if (offer.motion) {
    out += cat("moved so far (reports are ", word(kFreshness, offer.motion->freshness), "):\n");
    out += motion_text("cpu", offer.motion->cpu);
    out += motion_text("memory", offer.motion->memory);
  }
  if (offer.ledger) {
    out += offer.shared_for_want_of_yarn ? "ledger (shared: YARN takes no offers on this node):\n" : "ledger:\n";
    if (offer.others != model::Resources()) {
      out += cat("  held by third parties other than YARN: ", amount_text(offer.others.cpu), ", ",
                 amount_text(offer.others.memory), "\n");
    }
    out += side_text("kubernetes cpu", offer.ledger->kubernetes.cpu);
    out += side_text("kubernetes memory", offer.ledger->kubernetes.memory);
    out += side_text("yarn cpu", offer.ledger->yarn.cpu);
    out += side_text("yarn memory", offer.ledger->yarn.memory);
    out += reclaim_text("kubernetes", offer.ledger->kubernetes.reclaim);
    out += reclaim_text("yarn", offer.ledger->yarn.reclaim);
    if (offer.truthful) out += cat("  over-report: ", why(model::Reason::kBudgetOverReportGivenUp), "\n");
  }
  if (offer.arbitrate) out += arbitrate_text(*offer.arbitrate);
  if (offer.stopped) out += stop_text(model::Reason::kBudgetStopped, *offer.stopped);
  if (offer.backs_off) {
    out += stop_text(model::Reason::kBudgetBackOff, *offer.backs_off) + back_off_text(names.backs_off);
  }
  return out;
}

Json render_json(const sell::Offer& offer, const OfferNames& names) {
  Json out = Json::object({{"profile", Json(to_string(names.profile))}});
  if (offer.line) {
    Json line =
        Json::object({{"cpu", line_json(offer.line->cpu, names)}, {"memory", line_json(offer.line->memory, names)}});
    if (names.calendar != nullptr) line["calendar"] = Json(names.calendar->name);
    if (names.overrides != nullptr && !names.overrides->empty()) {
      line["overrides"] = Json::array();
      for (const auto& each : *names.overrides) line["overrides"].as_array().push_back(override_json(each));
    }
    if (offer.line->changes_at) line["changesAt"] = Json(base::format_rfc3339(*offer.line->changes_at));
    out["line"] = std::move(line);
  }
  if (offer.motion) {
    out["motion"] = Json::object({{"reports", Json(word(kFreshness, offer.motion->freshness))},
                                  {"cpu", motion_json(offer.motion->cpu)},
                                  {"memory", motion_json(offer.motion->memory)}});
  }
  if (offer.ledger) {
    out["ledger"] =
        Json::object({{"kubernetes", side_json(offer.ledger->kubernetes)}, {"yarn", side_json(offer.ledger->yarn)}});
    if (offer.others != model::Resources()) out["ledger"]["others"] = amounts_json(offer.others);
    if (offer.truthful) out["ledger"]["overReport"] = reason_json(model::Reason::kBudgetOverReportGivenUp);
    if (offer.shared_for_want_of_yarn) out["ledger"]["sharedForWantOfYarn"] = Json(true);
  }
  if (offer.arbitrate) {
    const sell::ArbitratePlan& verdict = *offer.arbitrate;
    out["arbitration"] = Json::object({{"reason", reason_json(verdict.reason)},
                                       {"gives", amounts_json(verdict.gives)},
                                       {"excess", amounts_json(verdict.excess)}});
    out["arbitration"]["held"] = verdict.held ? amounts_json(*verdict.held) : Json(nullptr);
  }
  if (offer.stopped) out["stopped"] = stop_json(model::Reason::kBudgetStopped, *offer.stopped);
  if (offer.backs_off) {
    out["backsOff"] = stop_json(model::Reason::kBudgetBackOff, *offer.backs_off);
    if (names.backs_off.any()) out["backsOff"]["secondsLeft"] = back_off_json(names.backs_off);
  }
  return out;
}

}  // namespace tidemark::policy::explain
