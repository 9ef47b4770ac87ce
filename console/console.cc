#include "console/console.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "console/api.h"
#include "console/documents.h"
#include "console/orders.h"
#include "console/page.h"
#include "console/settings_api.h"
#include "console/stream.h"
#include "net/http_server.h"
#include "net/loopback.h"

namespace tidemark::console {
namespace {

constexpr base::Duration kDrainLimit = std::chrono::seconds(2);
constexpr std::size_t kConnectionsMax = 1024;
constexpr std::size_t kStreamsAConnectionMax = 100;
constexpr std::size_t kHeaderBytesMax = 16 * 1024;

class Running final : public Console {
 public:
  Running(net::EventLoop& loop, kube::Client& client, base::Log log, base::Registry& metrics, base::Random random,
          ConsoleOptions options)
      : loop_(loop),
        log_(std::move(log)),
        cluster_(options.cluster),
        read_only_(!options.person && !options.in_cluster),
        price_(options.price),
        view_(loop, client, log_, metrics, random.fork(), options.view),
        stream_(loop, metrics, base::cat(random.next() & 0xffffffff), [this] { return snapshot(); }),
        orders_(loop, log_, view_, metrics, random.fork(), options.view),
        settings_api_(loop, log_, client, random.fork(), options.view),
        form_(std::move(options.in_cluster)),
        login_(form_ ? std::make_unique<Login>(loop, log_, *form_->reviewer, metrics,
                                               net::Sealer(form_->session_secret), form_->clients_of, form_->oidc)
                     : nullptr),
        api_({loop, client, view_, stream_, orders_, settings_api_, metrics, std::move(options.view),
              std::move(options.cluster), std::move(options.person), login_.get(),
              form_ ? Site{form_->hosts, true} : Site(), std::move(options.files), std::move(options.past),
              std::move(options.past_of_pods), options.plugins, options.price, std::move(options.gateway),
              form_ ? form_->certificate_end : nullptr}) {
    view_.on_change([this](const View::Change& change) { stream_.publish(delta(change)); });
  }

  Result<void> listen(const std::string& address) {
    if (!form_ && !net::is_loopback_host(address)) {
      return fail(
          ErrorKind::kInvalid, "--listen ", address,
          ": without a login the console serves only this machine; use 127.0.0.1:PORT, or give --tls-cert-file, ",
          "--tls-key-file and --host");
    }
    net::HttpServerConfig config;
    if (form_) config.tls = form_->tls;
    config.listen = address;
    config.connections_max = kConnectionsMax;
    config.streams_max = kStreamsAConnectionMax;
    config.limits.header_bytes_max = kHeaderBytesMax;
    TM_TRY(server_, net::HttpServer::listen(loop_, log_, std::move(config),
                                            [this](net::HttpExchange& exchange) { return api_.handle(exchange); }));
    return {};
  }

  void start() override { view_.start(); }
  std::string url() const override { return base::cat(form_ ? "https://" : "http://", server_->address(), "/"); }
  std::string not_ready() const override { return view_.synced() ? "" : "the cluster is not read yet"; }
  bool has_page() const override { return !page_files().empty(); }
  net::Task<void> drain() override { return server_->drain(kDrainLimit); }

 private:
  SummaryHead head() const { return {cluster_, read_only_, price_}; }

  // What the page needs to draw everything but details.
  std::string snapshot() {
    const base::WallTime now = loop_.clock().wall();
    std::string out;
    base::JsonWriter json(out);
    json.begin_object();
    json.key("summary").raw(summary_document(view_, head(), now));
    json.key("nodes").raw(nodes_document(view_, {*choose_columns({}), {}, {}, {}}));
    json.key("problems").raw(problems_document(view_));
    json.end_object();
    return out;
  }

  // Everyone who may list nodes and pods gets the stream, so it says of evictions only that their progress changed.
  std::string delta(const View::Change& change) {
    std::string out;
    base::JsonWriter json(out);
    json.begin_object();
    json.key("rows").begin_array();
    for (const NodeRow* row : change.rows) write_row(json, *row);
    json.end_array();
    json.key("gone").begin_array();
    for (const auto& name : change.gone) json.value(name);
    json.end_array();
    json.key("summary").raw(summary_document(view_, head(), loop_.clock().wall()));
    if (change.findings) json.key("problems").raw(problems_document(view_));
    if (change.evictions) json.member("evictions", true);
    json.end_object();
    return out;
  }

  net::EventLoop& loop_;
  base::Log log_;
  std::string cluster_;
  bool read_only_;
  std::optional<Price> price_;
  View view_;
  Stream stream_;
  Orders orders_;
  SettingsApi settings_api_;
  std::optional<ClusterForm> form_;
  std::unique_ptr<Login> login_;  // of the cluster form
  Api api_;
  std::unique_ptr<net::HttpServer> server_;  // goes first: its requests use everything above
};

}  // namespace

Result<std::unique_ptr<Console>> Console::make(net::EventLoop& loop, kube::Client& client, base::Log log,
                                               base::Registry& metrics, base::Random random, ConsoleOptions options) {
  const std::string address = options.listen;
  auto running =
      std::make_unique<Running>(loop, client, std::move(log), metrics, std::move(random), std::move(options));
  TM_TRY_VOID(running->listen(address));
  return std::unique_ptr<Console>(std::move(running));
}

}  // namespace tidemark::console
