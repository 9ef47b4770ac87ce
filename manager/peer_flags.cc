#include "manager/peer_flags.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace tidemark::manager {
namespace {

enum class Kind { kText, kSwitch };

struct PeerFlag {
  std::string_view name;  // as the peer has it
  Kind kind;
  std::string_view anyway;  // the value that asks for what happens here without it
  std::string_view why;
};

constexpr std::string_view kLog = "the log goes to standard error; see --log-level and --log-format";
constexpr std::string_view kPprof = "no profiles are served";
constexpr std::string_view kQuota = "quotas are not here";
constexpr std::string_view kBinding = "there is no webhook on bindings";
constexpr std::string_view kWatched = "what is needed is watched, and nothing read again by the clock";
constexpr std::string_view kLooked =
    "all pods that wait are looked at after each --colocation-profile-reconcile-interval";

constexpr PeerFlag kFlags[] = {
    {"namespace", Kind::kText, "",
     "pods of all namespaces are followed: what pods of another one use must not be sold"},
    {"enable-pprof", Kind::kSwitch, "false", kPprof},
    {"pprof-addr", Kind::kText, "", kPprof},
    {"gpu-shared-node-selector", Kind::kText, "", "GPU resources are not here"},
    {"colocation-profile-force-update-pod-duration", Kind::kText, "", kLooked},
    {"colocation-profile-expire-pod-cache-duration", Kind::kText, "", kWatched},
    {"pod-enhanced-validator-reconcile-interval", Kind::kText, "", kWatched},
    {"binding-admission-user-name", Kind::kText, "", kBinding},
    {"binding-admission-dry-run", Kind::kSwitch, "true", kBinding},
    {"binding-admission-namespaces", Kind::kText, "", kBinding},
    {"binding-admission-exclude-namespaces", Kind::kText, "*", kBinding},
    {"binding-admission-bypass-labels", Kind::kText, "*", kBinding},
    {"binding-admission-bypass-annotations", Kind::kText, "*", kBinding},
    {"quota-update-max-retries", Kind::kText, "", kQuota},
    {"quota-update-retry-jitter", Kind::kText, "", kQuota},
    {"quota-update-max-total-jitter", Kind::kText, "", kQuota},
    {"quota-update-conflict-fresh-get", Kind::kSwitch, "false", kQuota},
    {"v", Kind::kText, "*", kLog},
    {"vmodule", Kind::kText, "", kLog},
    {"logtostderr", Kind::kSwitch, "true", kLog},
    {"alsologtostderr", Kind::kSwitch, "*", kLog},
    {"stderrthreshold", Kind::kText, "*", kLog},
    {"legacy_stderr_threshold_behavior", Kind::kSwitch, "*", kLog},
    {"log_dir", Kind::kText, "", kLog},
    {"log_file", Kind::kText, "", kLog},
    {"log_file_max_size", Kind::kText, "*", kLog},
    {"log_backtrace_at", Kind::kText, "", kLog},
    {"one_output", Kind::kSwitch, "*", kLog},
    {"add_dir_header", Kind::kSwitch, "false", kLog},
    {"skip_headers", Kind::kSwitch, "false", kLog},
    {"skip_log_headers", Kind::kSwitch, "*", kLog},
};

// Every value asks for what happens anyway.
constexpr std::string_view kAnyValue = "*";

bool same(Kind kind, std::string_view given, std::string_view wanted) {
  return kind == Kind::kSwitch ? base::parse_go_bool(given) == base::parse_go_bool(wanted) : given == wanted;
}

// Ours have no underscores and more than one letter: such a name of the peer's is an alias.
std::string own_name(std::string_view name) {
  if (name.size() > 1 && name.find('_') == std::string_view::npos) return std::string(name);
  std::string own = base::cat("klog-", name);
  std::ranges::replace(own, '_', '-');
  return own;
}

}  // namespace

void PeerFlags::declare(base::Flags& flags) {
  flags.group("Of the peer, without effect here");
  // Refused where it asks for another kind: that would be a second leader beside the Lease's.
  flags.choice("leader-elect-resource-lock", texts_.emplace_back("leases"), {"leases"}, "always a Lease").hidden();
  for (const PeerFlag& peer : kFlags) {
    const std::string own = own_name(peer.name);
    base::Flag& flag = peer.kind == Kind::kSwitch ? flags.boolean(own, switches_.emplace_back(), peer.why)
                                                  : flags.text(own, texts_.emplace_back(), peer.why);
    flag.hidden();
    if (own != peer.name) flag.alias(peer.name);
  }
}

std::vector<std::string> PeerFlags::without_effect(const base::Flags::Parsed& parsed) const {
  std::vector<std::string> sentences;
  for (const PeerFlag& peer : kFlags) {
    const auto setting = std::ranges::find(parsed.settings, own_name(peer.name), &base::Flags::Setting::name);
    if (setting == parsed.settings.end() || setting->from == "default") continue;
    if (peer.anyway == kAnyValue || same(peer.kind, setting->value, peer.anyway)) continue;
    sentences.push_back(base::cat(setting->from, " has no effect: ", peer.why));
  }
  return sentences;
}

}  // namespace tidemark::manager
