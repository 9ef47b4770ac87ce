#include "base/peer_flags.h"

#include <algorithm>

#include "base/text.h"

namespace tidemark::base {
namespace {

using FlagKind = PeerFlag::Kind;

constexpr std::string_view kLog = "the log goes to standard error; see --log-level and --log-format";

constexpr PeerFlag kOfItsLogger[] = {
    {"v", FlagKind::kText, kAnyValue, kLog},
    {"vmodule", FlagKind::kText, "", kLog},
    {"logtostderr", FlagKind::kSwitch, "true", kLog},
    {"alsologtostderr", FlagKind::kSwitch, kAnyValue, kLog},
    {"stderrthreshold", FlagKind::kText, kAnyValue, kLog},
    {"legacy_stderr_threshold_behavior", FlagKind::kSwitch, kAnyValue, kLog},
    {"log_dir", FlagKind::kText, "", kLog},
    {"log_file", FlagKind::kText, "", kLog},
    {"log_file_max_size", FlagKind::kText, kAnyValue, kLog},
    {"log_backtrace_at", FlagKind::kText, "", kLog},
    {"one_output", FlagKind::kSwitch, kAnyValue, kLog},
    {"add_dir_header", FlagKind::kSwitch, "false", kLog},
    {"skip_headers", FlagKind::kSwitch, "false", kLog},
    {"skip_log_headers", FlagKind::kSwitch, kAnyValue, kLog},
};

bool same(FlagKind kind, std::string_view given, std::string_view wanted) {
  return kind == FlagKind::kSwitch ? parse_go_bool(given) == parse_go_bool(wanted) : given == wanted;
}

// Ours have no underscores and more than one letter: such a name of the peer's is an alias.
std::string own_name(std::string_view name) {
  if (name.size() > 1 && name.find('_') == std::string_view::npos) return std::string(name);
  std::string own = cat("klog-", name);
  std::ranges::replace(own, '_', '-');
  return own;
}

}  // namespace

void PeerFlags::declare(Flags& flags) {
  flags.group("Of the peer, without effect here");
  const auto add = [&](const PeerFlag& peer, const std::string& own) -> Flag& {
    switch (peer.kind) {
      case FlagKind::kSwitch:
        return flags.boolean(own, switches_.emplace_back(), peer.why);
      case FlagKind::kOnly:
        return flags.choice(own, texts_.emplace_back(peer.anyway), {peer.anyway}, peer.why);
      case FlagKind::kText:
        break;
    }
    return flags.text(own, texts_.emplace_back(), peer.why);
  };
  for (const std::span<const PeerFlag> some : {own_, std::span<const PeerFlag>(kOfItsLogger)}) {
    for (const PeerFlag& peer : some) {
      const std::string own = own_name(peer.name);
      Flag& flag = add(peer, own).hidden();
      if (own != peer.name) flag.alias(peer.name);
    }
  }
}

std::vector<std::string> PeerFlags::without_effect(const Flags::Parsed& parsed) const {
  std::vector<std::string> sentences;
  for (const std::span<const PeerFlag> some : {own_, std::span<const PeerFlag>(kOfItsLogger)}) {
    for (const PeerFlag& peer : some) {
      const auto setting = std::ranges::find(parsed.settings, own_name(peer.name), &Flags::Setting::name);
      if (setting == parsed.settings.end() || setting->from == "default") continue;
      if (peer.anyway == kAnyValue || same(peer.kind, setting->value, peer.anyway)) continue;
      sentences.push_back(cat(setting->from, " has no effect: ", peer.why));
    }
  }
  return sentences;
}

}  // namespace tidemark::base
