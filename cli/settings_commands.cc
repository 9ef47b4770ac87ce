#include "cli/settings_commands.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "operate/line_diff.h"
#include "policy/explain/rollout_text.h"

namespace tidemark::cli {
namespace {

using base::cat;
using operate::RolloutWait;
using operate::SettingsTextChange;

constexpr int kOutputSchema = 1;

std::string changes_text(const std::vector<SettingsTextChange>& changes) {
  std::string out;
  for (const auto& change : changes) {
    out += cat(change.map, " ", change.key,
               !change.before  ? " (comes back)"
               : !change.after ? " (goes)"
                               : "",
               ":\n", operate::line_diff(change.before.value_or(""), change.after.value_or("")));
  }
  return out.empty() ? "the ConfigMaps hold it already\n" : out;
}

Json changes_json(const std::vector<SettingsTextChange>& changes) {
  Json list = Json::array();
  for (const auto& change : changes) {
    list.as_array().push_back(Json::object({{"configMap", Json(change.map)},
                                            {"key", Json(change.key)},
                                            {"before", change.before ? Json(*change.before) : Json(nullptr)},
                                            {"after", change.after ? Json(*change.after) : Json(nullptr)}}));
  }
  return list;
}

std::string not_confirmed(std::string what) {
  return what + "nothing was changed: say --yes to do it";
}

// Of every change.
Json outcome(const operate::ChangeOptions& change, std::string_view verb, const std::optional<RolloutWait>& waited) {
  Json out = Json::object({{"schema", kOutputSchema}, {"verb", Json(verb)}, {"dryRun", change.dry_run}});
  out["request"] = change.dry_run ? Json(nullptr) : Json(change.id);
  out["happened"] = waited ? Json(waited->happened) : Json(nullptr);
  if (waited && !waited->problem.empty()) out["problem"] = Json(waited->problem);
  return out;
}

// `written`: what stands on the server, whatever became of it.
std::string waited_text(const operate::ChangeOptions& change, const std::optional<RolloutWait>& waited,
                        std::string_view written) {
  if (!waited) return "a running manager takes it at once; `tidemark list revisions` shows what became of it\n";
  if (waited->happened) return "it is in force\n";
  if (!waited->problem.empty()) {
    return cat(written, "; whether it is in force could not be seen: ", waited->problem,
               "\n`tidemark list revisions` shows what became of it\n");
  }
  return cat(written, ", but it is not in force after ", base::format_go_duration(change.wait),
             ": does a manager run? The next one takes it; `tidemark list revisions` shows\n");
}

ChangeReport report_of(std::string text, const std::optional<RolloutWait>& waited) {
  return {std::move(text), waited ? std::optional(waited->happened) : std::nullopt};
}

ChangeReport requested(const operate::ChangeOptions& change, const operate::RolloutChange& done, std::string_view verb,
                       std::string_view text, bool json) {
  if (json) return report_of(outcome(change, verb, done.waited).dump_pretty() + "\n", done.waited);
  return report_of(cat(change.dry_run ? "would leave the request: " : "asked for: ", text, "\n",
                       change.dry_run ? "" : waited_text(change, done.waited, "the request is left")),
                   done.waited);
}

}  // namespace

net::Task<Result<std::string>> list_revisions(net::EventLoop& loop, kube::Client& client,
                                              operate::SettingsOptions options, bool json) {
  TM_CO_TRY(const auto stored, co_await operate::read_revisions(client, std::move(options)));
  if (json) co_return policy::explain::render_json(stored).dump_pretty() + "\n";
  co_return policy::explain::render_text(stored, loop.clock().wall());
}

net::Task<Result<ChangeReport>> undo_config(net::EventLoop& loop, kube::Client& client,
                                            operate::SettingsOptions options, operate::ChangeOptions change,
                                            std::int64_t to, bool json) {
  TM_CO_TRY(const auto undo, co_await operate::undo_config(loop, client, std::move(options), change, to));
  const auto& waited = undo.waited;
  std::string text =
      cat(undo.never_taken ? "what the ConfigMaps hold was never taken: it was refused, or no manager has seen it yet\n"
                           : "",
          "back to revision ", undo.number, " (", undo.hash, "), taken at ", base::format_rfc3339(undo.taken),
          undo.at_once ? "; it was in force everywhere, so it holds everywhere at once\n"
                       : "; it was never in force everywhere, so it is rolled out in steps\n",
          changes_text(undo.changes));
  if (!undo.written && !change.dry_run) co_return fail(ErrorKind::kInvalid, not_confirmed(std::move(text)));
  if (json) {
    Json out = outcome(change, "undo", waited);
    out["revision"] = Json(undo.number);
    out["hash"] = Json(undo.hash);
    out["atOnce"] = Json(undo.at_once);
    out["changes"] = changes_json(undo.changes);
    co_return report_of(out.dump_pretty() + "\n", waited);
  }
  if (!change.dry_run) text += waited_text(change, waited, "the ConfigMaps are written");
  co_return report_of(std::move(text), waited);
}

net::Task<Result<ChangeReport>> pause_config(net::EventLoop& loop, kube::Client& client,
                                             operate::SettingsOptions options, operate::ChangeOptions change,
                                             base::Duration lasts, bool json) {
  TM_CO_TRY(const auto done, co_await operate::pause_config(loop, client, std::move(options), change, lasts));
  const std::string text = done.request.until
                               ? cat("no node takes new settings until ", base::format_rfc3339(*done.request.until))
                               : std::string("no node takes new settings until resume");
  co_return requested(change, done, "pause", text, json);
}

net::Task<Result<ChangeReport>> resume_config(net::EventLoop& loop, kube::Client& client,
                                              operate::SettingsOptions options, operate::ChangeOptions change, bool now,
                                              bool json) {
  const std::string_view text = now ? "every node takes the new settings at once" : "the paused rollout continues";
  if (now && !change.confirmed && !change.dry_run) co_return fail(ErrorKind::kInvalid, not_confirmed(cat(text, "\n")));
  TM_CO_TRY(const auto done, co_await operate::resume_config(loop, client, std::move(options), change, now));
  co_return requested(change, done, "resume", text, json);
}

}  // namespace tidemark::cli
