#include <optional>

#include "base/text.h"
#include "cli/preview_text.h"
#include "kube/config.h"
#include "main/cluster.h"
#include "main/process.h"
#include "main/shared_flags.h"
#include "main/zones.h"

namespace tidemark::main {
namespace {

constexpr std::size_t kPreviewFileMax = std::size_t{4} << 20;  // bytes

// "7d", or a duration as in flags: "36h".
std::optional<base::Duration> length_of(std::string_view text) {
  if (text.ends_with('d')) {
    const auto days = base::parse_int(text.substr(0, text.size() - 1));
    constexpr std::int64_t kDaysMax = 10'000;
    if (!days || *days < 0 || *days > kDaysMax) return std::nullopt;
    return std::chrono::hours(24 * *days);
  }
  return base::parse_go_duration(text);
}

}  // namespace

int run_preview(const std::vector<std::string>& args) {
  base::Flags flags("tidemark preview",
                    "Shows the future water line of a pool, and why: at each change, or with -o json every five "
                    "minutes. Writes nothing.");
  ClusterOptions cluster_options;
  operate::PreviewOptions options;
  options.settings.zones = zones_of_machine();
  LogOptions log_options;
  log_options.level = base::LogLevel::kWarn;
  std::string from;
  std::string length = "7d";
  std::string file;
  AnswerForm form;
  declare_cluster_flags(flags, cluster_options);
  flags.group("Preview");
  flags.text("from", from, "start time, e.g. 2026-11-21T22:00:00Z (default now)").placeholder("TIME");
  flags.text("for", length, "length, e.g. 7d or 36h, at most 31d").placeholder("DURATION");
  flags.text("filename", file, "file with new settings, instead of those of the cluster")
      .placeholder("FILE")
      .alias("f");
  declare_answer_flags(flags, form, options.settings.limit);
  declare_settings_flags(flags, options.settings.config_namespace, options.settings.config_name);
  declare_log_flags(flags, log_options);
  flags.arguments("pool NAME", 2, 2);
  base::Flags::Parsed parsed;
  if (auto code = parse_or_exit(flags, args, parsed)) return *code;
  if (parsed.arguments[0] != "pool") {
    return wrong_use(base::cat("expected pool NAME, found ", base::in_quotes(parsed.arguments[0])), flags);
  }
  options.pool = parsed.arguments[1];
  const auto lasts = length_of(length);
  if (!lasts || *lasts <= base::Duration(0) || *lasts > operate::kPreviewForMax) {
    return wrong_use(
        base::cat("--for: expected a duration such as 7d or 36h, at most 31d, found ", base::in_quotes(length)), flags);
  }
  options.length = *lasts;
  if (!from.empty()) {
    options.from = base::parse_rfc3339(from);
    if (!options.from) {
      return wrong_use(base::cat("--from: expected a time such as 2026-11-21T22:00:00Z, found ", base::in_quotes(from)),
                       flags);
    }
  }
  if (!file.empty()) {
    auto text = kube::system_files().read(file, kPreviewFileMax);
    if (!text) return failed(text.error());
    if (base::trim(*text).empty()) return failed({ErrorKind::kInvalid, base::cat(file, " is empty"), 0, 0});
    options.file = std::move(*text);
  }
  return ask_cluster("preview", log_options, cluster_options,
                     [&](net::EventLoop& loop, kube::Client& client) -> net::Task<Result<std::string>> {
                       TM_CO_TRY(const auto preview, co_await operate::preview_pool(loop, client, options));
                       co_return form.json() ? cli::render_json(preview).dump_pretty() + "\n"
                                             : cli::render_text(preview);
                     });
}

}  // namespace tidemark::main
