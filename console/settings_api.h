// Writes around the settings: edit, undo, pause and resume of a rollout, override of the water line, resume of a pool.
// They go through operate/, as the commands do, with the rights of the person.
//
// An edit begins with the texts and their hash as ETag. If the ConfigMaps changed since, by the page or by another
// program, the answer is 412 with three versions: the base of the edit, theirs, and yours.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "console/orders.h"
#include "console/settings_request.h"
#include "console/view.h"
#include "kube/client.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "operate/settings_change.h"

namespace tidemark::console {

class SettingsApi {
 public:
  static constexpr int kPlansAtOnce = 2;           // a plan reads the whole cluster
  static constexpr std::size_t kBasesKept = 16;    // of edits, for an answer 412
  static constexpr std::size_t kNodesInPlan = 50;  // those that change most

  // `client` reads with the rights of the console.
  SettingsApi(net::EventLoop& loop, const base::Log& log, kube::Client& client, base::Random random,
              ViewOptions settings);

  net::Task<void> texts(net::HttpExchange& exchange);  // GET /api/v1/settings/texts

  // `what` is the path after /api/v1/.
  static bool takes(std::string_view method, std::string_view what);
  net::Task<void> write(net::HttpExchange& exchange, std::string what, Person person);

 private:
  net::Task<void> edit(net::HttpExchange& exchange, std::string body, Person person);
  static void change_text_of(net::HttpExchange& exchange, std::string_view body);
  net::Task<void> undo(net::HttpExchange& exchange, std::string body, Person person);
  net::Task<void> pause(net::HttpExchange& exchange, std::string body, Person person);
  net::Task<void> resume(net::HttpExchange& exchange, std::string body, Person person);
  net::Task<void> override_line(net::HttpExchange& exchange, std::string body, Person person);
  net::Task<void> resume_pool(net::HttpExchange& exchange, std::string pool, std::string body, Person person);

  // Errors of the texts are answered; nullopt then.
  net::Task<std::optional<Json>> plan(net::HttpExchange& exchange, const policy::settings::SettingsTexts& texts,
                                      const std::vector<operate::SettingsTextChange>& changes, kube::Client& client);
  net::Task<void> answer_changed(net::HttpExchange& exchange, std::string base_hash,
                                 policy::settings::SettingsTexts theirs, policy::settings::SettingsTexts yours);
  Json texts_json(const policy::settings::SettingsTexts& texts) const;
  void keep(std::string hash, policy::settings::SettingsTexts texts);
  operate::SettingsOptions options() const;
  operate::ChangeOptions change_of(std::string reason);

  net::EventLoop& loop_;
  base::Log log_;
  kube::Client& client_;
  base::Random random_;
  ViewOptions settings_;
  std::deque<std::pair<std::string, policy::settings::SettingsTexts>> bases_;  // by hash, the latest first
  int planning_ = 0;
};

}  // namespace tidemark::console
