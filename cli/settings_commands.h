// The commands about settings: `tidemark list revisions`, `undo config`, `hold config`, `resume config`.
//
// `undo` writes the two ConfigMaps itself, with the rights of whoever calls it, and leaves a request beside the stored
// revisions, so that the manager takes the two writes for one edit. The others only leave a request. All work while no
// manager runs: the next one finds what was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::cli {

struct SettingsOptions {
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  bool json = false;
  base::Duration limit = std::chrono::seconds(30);  // for one answer of the API server
};

// Of every verb that changes something.
struct ChangeOptions {
  bool dry_run = false;
  bool yes = false;
  std::string reason;
  base::Duration wait{0};  // so long for it to have happened; zero: not at all
  std::string id;          // of the request; no other has it
};

// Each answers the whole output. Errors say what was done and what was not.
net::Task<Result<std::string>> list_revisions(net::EventLoop& loop, kube::Client& client, SettingsOptions options);

struct ChangeReport {
  std::string text;
  std::optional<bool> happened;  // within `wait`; nullopt: not waited for
};

// `to`: a revision's number; 0: the one that a roll-out under way began from, else the last one before the newest that
// was in force everywhere.
net::Task<Result<ChangeReport>> undo_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                            ChangeOptions change, std::int64_t to);

// `hold_for`: zero until somebody resumes.
net::Task<Result<ChangeReport>> hold_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                            ChangeOptions change, base::Duration hold_for);

// `now`: the rest takes the new settings at once.
net::Task<Result<ChangeReport>> resume_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                              ChangeOptions change, bool now);

}  // namespace tidemark::cli
