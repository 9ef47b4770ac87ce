#include "manager/webhook/webhook_configurations.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/testing/clock.h"
#include "base/text.h"
#include "net/testing/loop.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

ConfigurationOptions options() {
  ConfigurationOptions out;
  out.service_namespace = "koordinator-system";
  out.service_name = "koordinator-webhook-service";
  return out;
}

TEST(WebhookConfigurations, FailOpenAndExemptTheControlPlane) {
  for (const Json& list : {mutating_webhooks(options(), "PEM"), validating_webhooks(options(), "PEM")}) {
    for (const Json& hook : list.as_array()) {
      EXPECT_EQ(hook.text_at("failurePolicy"), "Ignore");
      EXPECT_EQ(hook.text_at("sideEffects"), "None");
      EXPECT_LE(hook.at("timeoutSeconds")->as_int(), 5);
      EXPECT_EQ(hook.text_at("clientConfig", "caBundle"), base::base64_encode("PEM"));
      EXPECT_EQ(hook.text_at("clientConfig", "service", "name"), "koordinator-webhook-service");
      const bool pods = hook.at("rules")->as_array()[0].at("resources")->as_array()[0].as_string() == "pods";
      const std::string selector = hook.at(pods ? "namespaceSelector" : "objectSelector")->dump();
      EXPECT_NE(selector.find(pods ? "control-plane" : "koordinator.sh/configmap-type"), std::string::npos) << selector;
    }
  }
}

TEST(WebhookConfigurations, EvictionsFailClosedOnlyForTheAgentUser) {
  ConfigurationOptions of_agents = options();
  of_agents.agent_account = "system:serviceaccount:koordinator-system:tidemark-agent";
  const Json list = eviction_webhooks(of_agents, "PEM");
  ASSERT_EQ(list.as_array().size(), 1U);
  const Json& hook = list.as_array()[0];
  EXPECT_EQ(hook.text_at("failurePolicy"), "Fail");
  EXPECT_EQ(hook.at("matchConditions")->dump(), R"([{"name":"agent","expression":"request.userInfo.username == )"
                                                R"(\"system:serviceaccount:koordinator-system:tidemark-agent\""}])");
  EXPECT_EQ(hook.at("rules")->dump(),
            R"([{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods/eviction"],)"
            R"("scope":"*"}])");
  EXPECT_EQ(hook.text_at("clientConfig", "service", "path"), "/validate-eviction");
  for (const auto* selector : {"namespaceSelector", "objectSelector"}) EXPECT_EQ(hook.at(selector)->dump(), "{}");
  // Whatever the user is called, it stays one text of the condition.
  of_agents.agent_account = R"(a" || true || ")";
  EXPECT_EQ(
      eviction_webhooks(of_agents, "PEM").as_array()[0].at("matchConditions")->as_array()[0].text_at("expression"),
      R"(request.userInfo.username == "a\" || true || \"")");
}

TEST(WebhookConfigurations, SupportAnAddressWithoutABundle) {
  ConfigurationOptions by_url = options();
  by_url.url = "https://127.0.0.1:9876";
  const Json hook = mutating_webhooks(by_url, std::nullopt).as_array()[0];
  EXPECT_EQ(hook.at("clientConfig")->dump(), R"({"url":"https://127.0.0.1:9876/mutate-pod"})");
}

TEST(WebhookConfigurations, WithoutABundleTheExistingOneStays) {
  Json there = validating_webhooks(options(), "THEIRS");
  there.as_array()[1]["clientConfig"].as_object().erase("caBundle");
  const Json kept = with_bundles_of(validating_webhooks(options(), std::nullopt), there);
  EXPECT_EQ(kept.as_array()[0].text_at("clientConfig", "caBundle"), base::base64_encode("THEIRS"));
  EXPECT_EQ(kept.as_array()[1].at("clientConfig", "caBundle"), nullptr);
  const Json ours = with_bundles_of(validating_webhooks(options(), "OURS"), there);
  EXPECT_EQ(ours.as_array()[0].text_at("clientConfig", "caBundle"), base::base64_encode("OURS"));
  EXPECT_EQ(with_bundles_of(mutating_webhooks(options(), std::nullopt), nullptr),
            mutating_webhooks(options(), std::nullopt));
}

constexpr std::string_view kEvictionsKey = "validatingwebhookconfigurations/tidemark-agent-evictions";

// An API server with these two kinds, as far as their keeper asks it.
class HookServer final : public kube::Reader, public kube::Watcher, public kube::Writer {
 public:
  net::Task<Result<std::string>> get(const kube::Resource&, std::string_view, std::string_view,
                                     base::Duration) override {
    co_return fail(ErrorKind::kNotFound, "not asked for");
  }
  net::Task<Result<std::string>> list(const kube::Resource& resource, kube::ListOptions options,
                                      std::function<Result<void>(std::string_view)> on_page, std::function<void()>,
                                      base::Duration) override {
    Json::Array items;
    const auto name = options.field_selector.substr(options.field_selector.find('=') + 1);
    if (const auto* there = find(resource, name)) items.push_back(*there);
    const Json page = Json::object(
        {{"kind", "List"}, {"metadata", Json::object({{"resourceVersion", "1"}})}, {"items", std::move(items)}});
    if (auto taken = on_page(page.dump()); !taken) co_return std::unexpected(std::move(taken).error());
    co_return std::string("1");
  }
  net::Task<Result<std::unique_ptr<kube::WatchStream>>> watch(const kube::Resource&, kube::WatchOptions) override {
    co_return fail(ErrorKind::kGone, "it is listed again instead");
  }
  net::Task<Result<std::string>> create(const kube::Resource& resource, std::string body, kube::WriteOptions how,
                                        std::string_view, base::Duration) override {
    Json object = *Json::parse(body);
    if (find(resource, object.text_at("metadata", "name")) != nullptr) {
      co_return fail(ErrorKind::kAlreadyExists, "it is there already");
    }
    co_return put(resource, std::move(object), how.dry_run);
  }
  net::Task<Result<std::string>> patch(const kube::Resource& resource, std::string_view name, kube::PatchType,
                                       std::string body, kube::WriteOptions how, base::Duration) override {
    if (forbids_patches) {
      ++forbidden;
      co_return fail(ErrorKind::kDenied, "forbidden");
    }
    Json object = *Json::parse(body);
    object["metadata"]["name"] = Json(name);
    const Json* there = find(resource, name);
    if (there == nullptr) co_return fail(ErrorKind::kNotFound, "it is not there");
    if (there->text_at("metadata", "resourceVersion") != object.text_at("metadata", "resourceVersion")) {
      co_return fail(ErrorKind::kConflict, "it was changed since");
    }
    co_return put(resource, std::move(object), how.dry_run);
  }
  net::Task<Result<void>> remove(const kube::Resource&, std::string_view, std::string, kube::WriteOptions,
                                 base::Duration) override {
    co_return fail(ErrorKind::kDenied, "no removal");
  }

  const Json* find(const kube::Resource& resource, std::string_view name) const {
    const auto at = objects.find(base::cat(resource.plural, "/", name));
    return at == objects.end() ? nullptr : &at->second;
  }
  const Json* evictions() const {
    const auto at = objects.find(std::string(kEvictionsKey));
    return at == objects.end() ? nullptr : &at->second;
  }

  std::map<std::string, Json> objects;
  bool drops_conditions = false;  // as a server before 1.28
  bool forbids_patches = false;
  int forbidden = 0;
  int dry_runs = 0;
  int writes = 0;
  bool open_to_all = false;  // at any time a webhook that fails closed was there without its condition

 private:
  std::string put(const kube::Resource& resource, Json object, bool dry_run) {
    object["metadata"]["resourceVersion"] = Json(base::cat(++revision_));
    for (Json& hook : object["webhooks"].as_array()) {
      if (drops_conditions) hook.as_object().erase("matchConditions");
      if (!dry_run && hook.text_at("failurePolicy") == "Fail" && hook.member("matchConditions") == nullptr) {
        open_to_all = true;
      }
    }
    std::string text = object.dump();
    if (dry_run) {
      ++dry_runs;
    } else {
      ++writes;
      objects[base::cat(resource.plural, "/", object.text_at("metadata", "name"))] = std::move(object);
    }
    return text;
  }
  int revision_ = 1;
};

class KeptTest : public ::testing::Test {
 protected:
  static Json wanted(const std::optional<std::string>& bundle) {
    ConfigurationOptions of_agents = options();
    of_agents.agent_account = "agent";
    return eviction_webhooks(of_agents, bundle);
  }
  void put(Json webhooks) {
    Json& object = server.objects[std::string(kEvictionsKey)];
    object = *Json::parse(R"({"metadata":{"name":"tidemark-agent-evictions","resourceVersion":"1"}})");
    object["metadata"]["annotations"] = Json::object({{kWebhooksManagedAnnotation, "true"}});
    object["webhooks"] = std::move(webhooks);
  }
  Json evictions() const { return server.evictions() == nullptr ? Json() : *server.evictions()->at("webhooks"); }
  void keep(std::string account = "agent") {
    ConfigurationOptions of_agents = options();
    of_agents.agent_account = std::move(account);
    configurations = std::make_unique<WebhookConfigurations>(
        Shared{loop, server, server, server, recorder, interner, log, metrics}, base::Random(1), of_agents,
        WebhookConfigurations::Context{.leading = [this] { return leading; },
                                       .ready = [] { return true; },
                                       .bundle = [] { return std::optional<std::string>("PEM"); },
                                       .on_change = [] {}});
    configurations->start();
    net::testing::run_for(loop, clock, 3min);
  }
  void TearDown() override { configurations.reset(); }
  double gauge(std::string_view name) { return metrics.gauge(name, "").value(); }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  base::Registry metrics;
  HookServer server;
  kube::EventRecorder recorder{loop, server, log, metrics, "test"};
  kube::Interner interner;
  bool leading = true;
  std::unique_ptr<WebhookConfigurations> configurations;
};

// The API server refuses without a request to the webhook, because it has no authority to trust yet.
TEST_F(KeptTest, OpensWhatTheChartLeftClosed) {
  put(wanted(std::nullopt));
  keep();
  EXPECT_EQ(evictions(), wanted("PEM"));
  EXPECT_GE(server.dry_runs, 1) << "what fails closed is tried before it is written";
  EXPECT_EQ(server.writes, 3);
  EXPECT_EQ(gauge("tidemark_webhook_evictions_registered"), 1);
  EXPECT_TRUE(configurations->trusted("PEM"));
  EXPECT_FALSE(configurations->trusted("OTHER"));
  EXPECT_EQ(server.evictions()->at("metadata", "annotations", kWebhooksTemplateAnnotation), nullptr);
}

TEST_F(KeptTest, DoesNothingIfTheConfigurationIsAbsent) {
  keep();
  EXPECT_EQ(server.evictions(), nullptr);
  EXPECT_EQ(server.writes, 2);
  EXPECT_EQ(gauge("tidemark_webhook_registered"), 1);
  EXPECT_EQ(gauge("tidemark_webhook_evictions_registered"), 0);
  EXPECT_TRUE(configurations->trusted("PEM"));
}

// The end of a release is not undone, an accident is.
TEST_F(KeptTest, RecreatesADeletedConfiguration) {
  put(wanted(std::nullopt));
  keep();
  server.objects.erase(std::string(kEvictionsKey));
  net::testing::run_for(loop, clock, 55s);
  EXPECT_EQ(server.evictions(), nullptr);
  net::testing::run_for(loop, clock, 3min);
  EXPECT_EQ(evictions(), wanted("PEM"));
  leading = false;
  server.objects.erase(std::string(kEvictionsKey));
  net::testing::run_for(loop, clock, 10min);
  EXPECT_EQ(server.evictions(), nullptr);
}

// Before Kubernetes 1.28: unknown there, or its gate is off. All evictions of the cluster would fail.
TEST_F(KeptTest, EmptiesItIfTheServerDropsTheCondition) {
  server.drops_conditions = true;
  Json bare = wanted(std::nullopt);
  bare.as_array()[0].as_object().erase("matchConditions");
  put(bare);
  keep();
  EXPECT_EQ(evictions(), Json::array());
  EXPECT_FALSE(server.open_to_all);
  EXPECT_EQ(server.writes, 2 + 1);
  EXPECT_EQ(gauge("tidemark_webhook_evictions_registered"), 0);
  EXPECT_EQ(gauge("tidemark_webhook_registered"), 1);
  EXPECT_TRUE(configurations->trusted("PEM")) << "the others go on";
}

TEST_F(KeptTest, ForbiddenUpdateDelaysNothingElse) {
  put(wanted(std::nullopt));
  server.forbids_patches = true;
  keep();
  EXPECT_EQ(evictions(), wanted(std::nullopt));
  const int before = server.forbidden;
  net::testing::run_for(loop, clock, 10min);
  EXPECT_GT(server.forbidden, before);
  EXPECT_LE(server.forbidden, before + 11) << "tried again each minute";
  EXPECT_EQ(gauge("tidemark_webhook_registered"), 1);
  EXPECT_EQ(gauge("tidemark_webhook_evictions_registered"), 0);
  EXPECT_TRUE(configurations->trusted("PEM"));
}

TEST_F(KeptTest, LeavesItAloneWithoutAnAgentUser) {
  put(wanted(std::nullopt));
  keep("");
  EXPECT_EQ(evictions(), wanted(std::nullopt));
  EXPECT_EQ(server.writes, 2);
}

// Another writer undoes each write a second later, for an hour.
TEST(WebhookConfigurations, RepeatedRepairsBackOff) {
  RepairBrake brake;
  base::MonotonicTime now{};
  int writes = 0;
  int told = 0;
  for (int second = 0; second < 3600; ++second, now = now + 1s) {
    const auto answer = brake.ask(now);
    if (answer == RepairBrake::Answer::kWait) continue;
    if (answer == RepairBrake::Answer::kGoAndTell) ++told;
    brake.wrote(now);
    ++writes;
  }
  EXPECT_GE(writes, 5 + 3600 / 120 - 1);
  EXPECT_LE(writes, 6 + 3600 / 120);
  EXPECT_GE(told, 3600 / 120 - 1);
  // After a calm time it is quick again.
  now = now + 1h;
  EXPECT_EQ(brake.ask(now), RepairBrake::Answer::kGo);
  brake.wrote(now);
  EXPECT_EQ(brake.ask(now + 1s), RepairBrake::Answer::kGo);
}

TEST(WebhookConfigurations, OmitsDisabledWebhooks) {
  ConfigurationOptions off = options();
  off.pods_mutated = false;
  off.pods_validated = false;
  EXPECT_TRUE(mutating_webhooks(off, "PEM").as_array().empty());
  ASSERT_EQ(validating_webhooks(off, "PEM").as_array().size(), 1U);
  EXPECT_EQ(validating_webhooks(off, "PEM").as_array()[0].text_at("name"), "vconfigmap.koordinator.sh");
}

TEST(WebhookConfigurations, IgnoresDefaultsOfTheServer) {
  const Json wanted = validating_webhooks(options(), "PEM");
  Json there = wanted;
  there.as_array()[0]["matchConditions"] = Json::array();
  EXPECT_TRUE(covers(there, wanted));
  there.as_array()[0]["failurePolicy"] = "Fail";
  EXPECT_FALSE(covers(there, wanted));
  there = wanted;
  there.as_array().pop_back();
  EXPECT_FALSE(covers(there, wanted));
  EXPECT_FALSE(covers(there, Json::object()) && covers(Json(), wanted));
}

}  // namespace
}  // namespace tidemark::manager
