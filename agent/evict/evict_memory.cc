#include "agent/evict/evict_memory.h"

#include <utility>

#include "agent/enforcer/found_journal.h"
#include "journal/whole_file.h"
#include "policy/evict/stored.h"

namespace tidemark::agent {
namespace {

// A pause alone is not worth a file: the next agent starts with its own pause.
bool is_worth_keeping(const policy::evict::EvictState& state) {
  return !state.hour.empty() || !state.leaving.empty();
}

}  // namespace

EvictMemory::EvictMemory(const base::Log& log, const std::string& run_dir, std::string proc_root)
    : log_(log), folder_(run_dir), path_(run_dir + "/evictions.json"), proc_root_(std::move(proc_root)) {}

Result<void> EvictMemory::know_boot() {
  if (boot_id_.empty()) boot_id_ = boot_id(proc_root_);
  return needs_boot_id(boot_id_);
}

policy::evict::EvictState EvictMemory::begin(base::MonotonicTime now) {
  if (const auto known = know_boot(); !known) {
    log_.warn("cannot read earlier evictions; they do not count", {{"error", known.error().message}});
    return policy::evict::first_evict_state(now);
  }
  const auto text = journal::read_whole(path_, policy::evict::kEvictStoredBytesMax);
  if (!text || !*text) {
    if (!text) log_.warn("cannot read earlier evictions; they do not count", {{"error", text.error().message}});
    return policy::evict::first_evict_state(now);
  }
  auto before = policy::evict::decode_evictions(**text, boot_id_);
  if (!before) {
    if (before.error().kind != ErrorKind::kNotFound) {
      log_.warn("cannot read earlier evictions; they do not count",
                {{"file", path_}, {"error", before.error().message}});
    }
    return policy::evict::first_evict_state(now);
  }
  kept_ = *before;
  if (is_worth_keeping(kept_)) {
    log_.info("continues with evictions of the previous agent", {{"within the hour", std::to_string(kept_.hour.size())},
                                                                 {"leaving", std::to_string(kept_.leaving.size())}});
  }
  return policy::evict::evict_state_after(*std::move(before), now);
}

void EvictMemory::keep(const policy::evict::EvictState& state) {
  if (state == kept_) return;
  const bool was_worth = is_worth_keeping(kept_);
  if (!is_worth_keeping(state) && !was_worth) return;
  const auto done = [&]() -> Result<void> {
    TM_TRY_VOID(know_boot());
    if (!is_worth_keeping(state)) {
      TM_TRY_VOID(journal::remove_whole(path_));
    } else {
      TM_TRY_VOID(journal::make_folder(folder_));
      TM_TRY_VOID(journal::write_whole(path_, policy::evict::encode_evictions(state, boot_id_)));
    }
    return {};
  }();
  if (done) kept_ = state;
  if (!done && !troubled_) {
    log_.warn("cannot save evictions for restart; the count of the hour would restart",
              {{"error", done.error().message}});
  }
  troubled_ = !done;
}

}  // namespace tidemark::agent
