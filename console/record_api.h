// The part of the API whose data is read when a page asks for it: decisions, settings, calendar, platform, YARN, online
// services and the past. Equal questions within kAnswerLife, or while the first is under way, share one answer. Files
// are read by a worker.
//
// The list of online services is large and takes long, so it has a place of its own: one is read at a time, beside
// kAnswersAtOnce others, and dropped after kOnlineLife. The pods of one workload are cut out of it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "console/past_files.h"
#include "console/view.h"
#include "kube/client.h"
#include "net/http.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/worker.h"
#include "operate/decisions.h"
#include "operate/online.h"
#include "operate/settings_change.h"

namespace tidemark::console {

struct RecordParts {
  net::EventLoop& loop;
  kube::Client& client;
  View& view;
  ViewOptions settings;  // their location
  operate::DecisionFiles files;
  PastFiles past;
  PastOfPods past_of_pods;
  std::function<std::optional<base::WallTime>()> certificate_end{};  // of the one that is served; empty: none is
};

class RecordApi {
 public:
  static constexpr base::Duration kAnswerLife = std::chrono::seconds(2);
  static constexpr base::Duration kOnlineLife = std::chrono::seconds(30);
  static constexpr std::size_t kAnswersKept = 16;
  static constexpr std::size_t kAnswersAtOnce = 4;     // the others wait
  static constexpr std::size_t kAnswersUnderWay = 64;  // further questions are refused

  explicit RecordApi(RecordParts parts);
  // Whether `what` (the path after /api/v1/) is of this part.
  static bool has(std::string_view what);
  net::Task<void> handle(net::HttpExchange& exchange, std::string what, net::Target target);

 private:
  using Make = std::function<net::Task<Result<std::string>>()>;
  struct Reading;
  net::Task<Result<std::string>> shared(std::string key, Make make);
  net::Task<void> read(std::string key, std::shared_ptr<Reading> reading, Make make);
  net::Task<void> online(net::HttpExchange& exchange, std::string workload);
  net::Task<void> read_online();
  net::Task<void> decisions(net::HttpExchange& exchange, net::Target target);
  net::Task<operate::DecisionsFound> find(operate::DecisionQuery query);
  net::Task<Result<std::string>> answer(std::string what, net::Target target);
  net::Task<Result<std::string>> past(std::string what, net::Target target);
  operate::SettingsOptions settings_options() const;

  struct Answer {
    base::MonotonicTime at;
    std::string body;
  };
  RecordParts parts_;
  std::map<std::string, Answer, std::less<>> answers_;
  std::map<std::string, std::shared_ptr<Reading>> under_way_;  // by key, as answers_
  std::size_t making_ = 0;
  net::Event place_;                                       // woken when one of making_ ends
  std::shared_ptr<const operate::OnlineServices> online_;  // null: none, or too old
  std::optional<Error> online_error_;                      // of the last list
  bool online_under_way_ = false;
  net::Event online_read_;  // set when a list ends
  net::WorkerPool workers_;
  net::Scope scope_;
};

}  // namespace tidemark::console
