// The HTTP interface of the console: the page, /api/v1, the event stream and /metrics. Answers come from the View; the
// detail of one node is read from the API server, by the same code as `tidemark explain node`.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/result.h"
#include "console/documents.h"
#include "console/guard.h"
#include "console/login.h"
#include "console/orders.h"
#include "console/past_files.h"
#include "console/record_api.h"
#include "console/settings_api.h"
#include "console/spark_api.h"
#include "console/stream.h"
#include "console/view.h"
#include "kube/client.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace tidemark::console {

struct ApiParts {
  net::EventLoop& loop;
  kube::Client& client;
  View& view;
  Stream& stream;
  Orders& orders;
  SettingsApi& settings_api;
  const base::Registry& metrics;
  ViewOptions settings;          // their location
  std::string cluster;           // shown in the header of the page
  std::optional<Person> person;  // of the laptop form; nullopt: read-only
  Login* login = nullptr;        // of the cluster form
  Site site{};
  operate::DecisionFiles files{};
  PastFiles past{};
  PastOfPods past_of_pods{};
  policy::sell::PluginSet plugins{};
  std::optional<Price> price{};
  SparkGateway gateway{};
  std::function<std::optional<base::WallTime>()> certificate_end{};  // as in RecordParts
};

class Api {
 public:
  static constexpr base::Duration kDetailLife = std::chrono::seconds(2);  // answers for one node are shared that long
  static constexpr std::size_t kDetailsKept = 32;
  static constexpr int kDetailsAtOnce = 8;

  explicit Api(ApiParts parts)
      : parts_(std::move(parts)),
        records_({parts_.loop, parts_.client, parts_.view, parts_.settings, std::move(parts_.files),
                  std::move(parts_.past), std::move(parts_.past_of_pods), std::move(parts_.certificate_end)}) {}
  net::Task<void> handle(net::HttpExchange& exchange);

 private:
  bool read_only() const { return parts_.login == nullptr && !parts_.person; }
  net::Task<void> write(net::HttpExchange& exchange, std::string_view path);
  net::Task<void> session(net::HttpExchange& exchange);
  net::Task<Result<std::optional<Person>>> person(net::HttpExchange& exchange);
  // kDenied: the person may not read all that the answer of this path shows.
  net::Task<Result<void>> may_see(net::HttpExchange& exchange, std::string what);
  net::Task<void> node(net::HttpExchange& exchange, std::string name);
  net::Task<Result<std::string>> node_detail(std::string name);
  void nodes(net::HttpExchange& exchange, const net::Target& target);
  void offline(net::HttpExchange& exchange, const net::Target& target);
  void history(net::HttpExchange& exchange, std::string_view pool);
  void pool(net::HttpExchange& exchange, std::string_view name);
  void page(net::HttpExchange& exchange, std::string_view path);

  struct Detail {
    base::MonotonicTime at;
    std::string body;
  };
  ApiParts parts_;
  RecordApi records_;
  std::map<std::string, Detail, std::less<>> details_;
  int reading_ = 0;  // details that are read now
};

}  // namespace tidemark::console
