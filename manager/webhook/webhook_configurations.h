// Tells the API server which requests to ask us about: the objects MutatingWebhookConfiguration and
// ValidatingWebhookConfiguration, made, kept as they must be, and given the present bundle of authorities. Only the
// leader writes.
//
// The names are Koordinator's by default, so that a manager of ours in its place takes them over: what its chart put
// there is saved under the annotation "template", which is where it looks when it comes back.
//
// A third object, for evictions by node agents, is ours alone. It fails closed, for the agents' user only. The chart
// creates it closed, together with the agents' permissions, and the leader opens it by adding the trusted bundle. A
// server that stores it without its condition (before Kubernetes 1.28) would refuse all users: there it is emptied.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/recorder.h"
#include "manager/shared.h"
#include "manager/webhook/webhook_objects.h"
#include "net/loop.h"

namespace tidemark::manager {

// One field for each flag of the webhooks that their objects depend on.
struct ConfigurationOptions {
  std::string mutating_name = "koordinator-mutating-webhook-configuration";
  std::string validating_name = "koordinator-validating-webhook-configuration";
  std::string service_namespace;
  std::string service_name;
  std::int64_t service_port = 443;
  std::string url;  // "https://HOST:PORT": asked there and not by service
  std::string evictions_name = "tidemark-agent-evictions";
  std::string agent_account;  // "": no eviction is checked, and that object is not written
  bool pods_mutated = true;
  bool pods_validated = true;
  bool settings_validated = true;
};

// The lists, with every default that the API server fills in. Without a bundle the member is left out.
Json mutating_webhooks(const ConfigurationOptions& options, const std::optional<std::string>& bundle);
Json validating_webhooks(const ConfigurationOptions& options, const std::optional<std::string>& bundle);
Json eviction_webhooks(const ConfigurationOptions& options, const std::optional<std::string>& bundle);
// Whether `there` says all that `wanted` says: members that the server added do not matter, elements of lists do.
bool covers(const Json& there, const Json& wanted);

// Without a bundle of ours each webhook keeps the present bundle under its name.
Json with_bundles_of(Json wanted, const Json& there);

// Decides when to repair a change of another writer: at once the first few times in a row, then at long intervals.
class RepairBrake {
 public:
  enum class Answer { kGo, kWait, kGoAndTell };  // tell: another writer does not stop
  Answer ask(base::MonotonicTime now);
  void wrote(base::MonotonicTime now) { written_ = now; }

 private:
  std::optional<base::MonotonicTime> written_;
  int repairs_ = 0;  // in a row, each soon after our own write
};

class WebhookConfigurations {
 public:
  struct Context {
    std::function<bool()> leading;
    std::function<bool()> ready;  // an answer would be right: before that no webhook is registered
    std::function<std::optional<std::string>()> bundle;
    std::function<void()> on_change;  // what trusted() answers may have changed
  };

  WebhookConfigurations(const Shared& shared, base::Random random, ConfigurationOptions options, Context context);

  void set_url(std::string url) { options_.url = std::move(url); }
  void start();  // until destroyed
  void look() { changed_.set(); }

  // Whether every webhook of these objects trusts this authority, as far as our watch has heard.
  bool trusted(std::string_view pem) const;

 private:
  struct Side {
    const kube::Resource& resource;
    std::string name;
    std::unique_ptr<kube::Informer<WebhookConfigurationObject>> objects;
    bool needed = true;  // some webhook of its kind is switched on
    bool fails_closed = false;
    RepairBrake brake{};
    Json last{};            // what we wrote last; writing something else is no repair
    bool given_up = false;  // and told: neither the server nor our role lets it be as it should
    bool seen = false;
    std::optional<base::MonotonicTime> gone_since{};  // nullopt: it is there, or never was
  };
  enum class Kept { kRight, kNotYet, kNotHere };

  net::Task<void> keep();
  net::Task<Kept> keep_side(Side& side, Json wanted);
  net::Task<Result<void>> write(Side& side, const WebhookConfigurationObject* there, const Json& wanted);
  // The object's webhooks as the server has them then.
  net::Task<Result<Json>> send(const Side& side, bool create, std::string body, bool dry_run);
  Kept give_up(Side& side, std::string_view why);
  bool others_make(Side& side, bool there) const;
  Side make_side(const kube::Resource& resource, const std::string& name, bool needed, base::Random random,
                 kube::InformerConfig config);

  Shared shared_;
  base::Log log_;
  ConfigurationOptions options_;
  Context context_;
  Side mutating_;
  Side validating_;
  std::optional<Side> evictions_;
  std::vector<Side*> kept_;  // all of them
  base::Counter& writes_;
  base::Gauge& registered_gauge_;
  base::Gauge& evictions_gauge_;
  net::Event changed_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
