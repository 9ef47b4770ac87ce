// What `tidemark check ledger` sees: nodes, their reports and NUMA zones, the pods on them and the settings, listed
// once and then watched, each change handed to the auditor at the moment it arrives.
//
// While one of the kinds cannot be watched the audit pauses, because the other kinds alone would mislead.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "cli/yarn/audit.h"
#include "cli/yarn/rm_watch.h"
#include "kube/client.h"
#include "net/loop.h"
#include "net/task.h"

namespace tidemark::cli {

struct LedgerWatchOptions {
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  base::Duration limit = std::chrono::seconds(30);  // for one answer of the API server
  RmWatchOptions managers;                          // without clusters none is asked
};

struct FailedLooks {
  std::int64_t count = 0;   // lists and watches that failed
  std::string last;         // what was wrong
  base::Duration blind{0};  // how long not everything was seen, after it once was
};

// Whether looking again may help.
bool may_pass(const Error& error);

class LedgerWatch {
 public:
  LedgerWatch(net::EventLoop& loop, kube::Client& client, Auditor& auditor, LedgerWatchOptions options);

  void start();                              // until destroyed
  void tick();                               // brings everything up to now
  net::Event& news() { return news_; }       // something failed, or all is seen
  bool saw_all() const { return saw_all_; }  // once at least
  // Why it never will; where it saw all once, nothing stops it.
  const std::optional<Error>& hopeless() const { return hopeless_; }
  FailedLooks failed() const;

 private:
  using Data = std::map<std::string, std::string, std::less<>>;
  struct Node {
    Json of_settings;  // what settings are chosen by
    AuditSight sight;  // without reports and pods
  };
  struct Kind {
    kube::Resource resource;
    std::string ns;
    std::string field_selector;
    int page_size = 500;
    std::function<void()> begin;                                // a list: all of it comes
    std::function<Result<void>(std::string_view object)> take;  // of a list, or new or changed
    std::function<void(const std::string& ns, const std::string& name)> drop;
    bool followed = false;
  };
  struct Pods {
    std::unordered_map<std::string, AuditPod> by_key;
    std::map<std::string, std::vector<std::string>, std::less<>> keys_on;  // a node
  };

  Kind kind_of_settings(const std::string& name);
  Kind kind_of_nodes();
  Kind kind_of_metrics();
  Kind kind_of_topologies();
  Kind kind_of_pods();
  net::Task<void> follow(Kind& kind);
  net::Task<Result<std::string>> list(Kind& kind);
  net::Task<Result<void>> watch(Kind& kind, std::string& revision);
  net::Task<void> lose_if_not(Kind& kind, std::shared_ptr<const bool> open);
  void failed(Kind& kind, const Error& error);
  void count_failure(const Error& error);
  void lose(Kind& kind);
  void look_away();  // before something is lost
  void found(Kind& kind);
  void look_again();  // after something was found
  void asked_managers(const Result<void>& done);
  bool whole() const;
  void see(const std::string& node);
  void see_all();
  bool read_settings();
  void put_pod(const std::string& key, AuditPod pod);
  void drop_pod(const std::string& key);

  net::EventLoop& loop_;
  kube::Client& client_;
  Auditor& auditor_;
  LedgerWatchOptions options_;
  std::vector<Kind> kinds_;
  std::optional<RmWatch> managers_;
  std::map<std::string, Data, std::less<>> maps_;
  std::optional<AuditSettings> settings_;
  std::map<std::string, Node, std::less<>> nodes_;
  std::map<std::string, AuditMetric, std::less<>> metrics_;
  std::map<std::string, AuditZones, std::less<>> zones_;
  Pods pods_;
  bool saw_all_ = false;
  std::optional<base::MonotonicTime> blind_since_;
  std::optional<Error> hopeless_;
  FailedLooks failed_;
  net::Event news_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::cli
