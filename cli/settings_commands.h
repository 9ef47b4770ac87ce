// The text and the JSON of the commands about settings: `tidemark list revisions`, `undo config`, `pause config`,
// `resume config`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"
#include "operate/settings_change.h"

namespace tidemark::cli {

// Each returns the whole output. Errors say what was done and what was not.
net::Task<Result<std::string>> list_revisions(net::EventLoop& loop, kube::Client& client,
                                              operate::SettingsOptions options, bool json);

struct ChangeReport {
  std::string text;
  std::optional<bool> happened;  // within the wait; nullopt: no wait
};

net::Task<Result<ChangeReport>> undo_config(net::EventLoop& loop, kube::Client& client,
                                            operate::SettingsOptions options, operate::ChangeOptions change,
                                            std::int64_t to, bool json);

// `lasts`: zero means until `resume config`.
net::Task<Result<ChangeReport>> pause_config(net::EventLoop& loop, kube::Client& client,
                                             operate::SettingsOptions options, operate::ChangeOptions change,
                                             base::Duration lasts, bool json);

// `now`: all remaining nodes take the new settings at once; needs a confirmed change.
net::Task<Result<ChangeReport>> resume_config(net::EventLoop& loop, kube::Client& client,
                                              operate::SettingsOptions options, operate::ChangeOptions change, bool now,
                                              bool json);

}  // namespace tidemark::cli
