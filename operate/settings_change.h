// Settings and the rollout of new ones: edit, undo, pause, resume.
//
// `edit_config` and `undo_config` write the two ConfigMaps, with the rights of their caller. If both change, they leave
// a request beside the stored revisions, so that the manager takes the two writes as one edit. The others only leave a
// request. All work while no manager runs: the next one finds the request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::operate {

struct SettingsOptions {
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  base::Duration limit = std::chrono::seconds(30);  // for one answer of the API server
};

struct ChangeOptions {
  bool dry_run = false;
  bool confirmed = false;  // undo_config() writes nothing without it
  std::string reason;
  base::Duration wait{0};  // longest wait for the change to take effect; zero: none
  std::string id;          // of the request; unique
};

// The wait for a manager to take a change up.
struct RolloutWait {
  bool happened = false;
  std::string problem;  // why it could not be seen; "" if it could
};

net::Task<Result<policy::settings::Stored>> read_revisions(kube::Client& client, SettingsOptions options);

// One key of one ConfigMap. nullopt: the key is not there.
struct SettingsTextChange {
  std::string map;
  std::string key;
  std::optional<std::string> before;
  std::optional<std::string> after;
};

struct SettingsEdited {
  std::string hash;  // of the new settings
  std::vector<SettingsTextChange> changes;
  // What the ConfigMaps hold if that is not the base of the edit: another person changed them, and nothing is written.
  std::optional<policy::settings::SettingsTexts> theirs;
  bool written = false;
};
// `base`: hash of the settings that the edit began with. The texts are not checked: plan_settings() does that.
net::Task<Result<SettingsEdited>> edit_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                              ChangeOptions change, std::string base,
                                              policy::settings::SettingsTexts wanted);

struct SettingsUndo {
  bool never_taken = false;  // the ConfigMaps hold settings that were refused, or that no manager has seen
  std::int64_t number = 0;   // of the revision that comes back
  std::string hash;
  base::WallTime taken;
  bool at_once = false;  // it was in force everywhere: no steps
  std::vector<SettingsTextChange> changes;
  bool written = false;
  std::optional<RolloutWait> waited;  // nullopt: not waited for
};
// `to`: a revision's number; 0: the start of the current rollout, else the last one before the newest that was in force
// everywhere. Errors say what was done and what was not.
net::Task<Result<SettingsUndo>> undo_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                            ChangeOptions change, std::int64_t to);

struct RolloutChange {
  policy::settings::RolloutRequest request;
  std::optional<RolloutWait> waited;
};
// `lasts`: zero until it is resumed.
net::Task<Result<RolloutChange>> pause_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                              ChangeOptions change, base::Duration lasts);

// `now`: all remaining nodes take the new settings at once.
net::Task<Result<RolloutChange>> resume_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                               ChangeOptions change, bool now);

}  // namespace tidemark::operate
