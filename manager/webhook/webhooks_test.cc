// The handlers and the reconciler against the API server in memory, under simulated time. What only a real API server
// does (asking a webhook at all) is tested in tests/cluster.
#include "manager/webhook/webhooks.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/testing/clock.h"
#include "base/testing/source_dir.h"
#include "base/text.h"
#include "base/yaml.h"
#include "kube/memory/json_patch.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "kube/recorder.h"
#include "manager/webhook/admission_handlers.h"
#include "manager/webhook/profile_controller.h"
#include "net/testing/loop.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPodsPath = "/api/v1/namespaces/team/pods";
constexpr std::string_view kProfilesPath = "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles";

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

kube::InformerConfig of(const kube::Resource& resource) {
  kube::InformerConfig config;
  config.resource = resource;
  return config;
}

class WebhooksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    transport = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "test");
    client = std::make_unique<kube::Client>(
        loop, *transport, [] { return std::string(); }, kube::ClientConfig{}, base::Random(1));
    must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
         *base::parse_yaml(
             read_file(base::testing::from_root("deploy/crds/config.koordinator.sh_clustercolocationprofiles.yaml"))));
    must("POST", "/api/v1/namespaces", named("team"));
    const auto informer = [&]<class T>(const kube::Resource& resource, auto decode) {
      return std::make_unique<kube::Informer<T>>(
          kube::InformerParts{loop, *client, *client, log, metrics, base::Random(2)}, of(resource), decode);
    };
    profiles = informer.operator()<ProfileObject>(kube::kColocationProfiles, decode_profile);
    namespaces = informer.operator()<NamespaceObject>(
        kube::kNamespaces, [this](std::string_view bytes) { return decode_namespace(bytes, interner); });
    classes = informer.operator()<PriorityClassObject>(kube::kPriorityClasses, decode_priority_class);
    nodes = informer.operator()<kube::Node>(
        kube::kNodes, [this](std::string_view bytes) { return kube::decode_node(bytes, {}, interner); });
    recorder = std::make_unique<kube::EventRecorder>(loop, *client, log, metrics, "test");
  }
  void TearDown() override { scope.reset(); }

  void follow() {
    scope = std::make_unique<net::Scope>(loop);
    scope->spawn(profiles->run());
    scope->spawn(namespaces->run());
    scope->spawn(classes->run());
    scope->spawn(nodes->run());
    scope->spawn(recorder->run());
    run_for(1s);
  }
  void run_for(base::Duration time) { net::testing::run_for(loop, clock, time); }

  std::unique_ptr<AdmissionHandlers> handlers(policy::admission::AdmissionRules rules = {},
                                              kube::Reader* reader = nullptr) {
    AdmissionSettings settings;
    settings.rules = rules;
    settings.config_namespace = "koordinator-system";
    settings.config_name = "slo-controller-config";
    settings.zones = [](std::string_view) { return policy::waterline::Zones(); };
    settings.agent_account = "agent";
    return std::make_unique<AdmissionHandlers>(
        AdmissionContext{.reader = reader == nullptr ? *client : *reader,
                         .ahead = reader == nullptr ? *client : *reader,
                         .interner = interner,
                         .clock = clock,
                         .caches = {*profiles, *namespaces, *classes, *nodes},
                         .scope_of = [](const Json&) { return policy::state::PodScopeState(); },
                         .enhanced = [] { return nullptr; },
                         .may_not_go = [this](std::string_view) { return limit; }},
        settings, base::Random(3));
  }
  std::optional<policy::admission::EvictionRefusal> limit{};  // that is answered for a pod that may be evicted
  AdmissionAnswer ask(net::Task<AdmissionAnswer> task) { return net::testing::run_task(loop, clock, std::move(task)); }

  static Json named(std::string_view name) {
    return Json::object({{"metadata", Json::object({{"name", Json(name)}})}});
  }
  static Json pod(std::string_view name) {
    return *Json::parse(base::cat(
        R"({"metadata":{"name":")", name,
        R"(","labels":{"app":"spark"}},"spec":{"containers":[{"name":"m","image":"i","resources":{"requests":{"cpu":"1"}}}]}})"));
  }
  void profile(std::string_view spec) {
    Json object = named("spark");
    object["apiVersion"] = "config.koordinator.sh/v1alpha1";
    object["kind"] = "ClusterColocationProfile";
    object["spec"] = *Json::parse(spec);
    must("POST", kProfilesPath, object);
  }
  AdmissionRequest request(Json object, std::string ns = "team") {
    AdmissionRequest out;
    out.uid = "u";
    out.resource = "pods";
    out.ns = std::move(ns);
    out.object = std::move(object);
    return out;
  }

  Json must(std::string_view method, std::string_view target, const Json& body) {
    net::HttpRequest sent;
    sent.method = method;
    sent.target = target;
    if (!body.is_null()) {
      sent.body = body.dump();
      sent.headers.set("content-type", "application/json");
    }
    auto response = net::testing::run_task(loop, clock, transport->fetch(std::move(sent), 10s));
    EXPECT_TRUE(response && response->status < 300) << target << " " << (response ? response->body : "");
    return response ? *Json::parse(response->body) : Json();
  }
  Json read_pod(std::string_view name) { return must("GET", base::cat(kPodsPath, "/", name), nullptr); }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  base::Registry metrics;
  kube::Interner interner;
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> transport;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<kube::Informer<ProfileObject>> profiles;
  std::unique_ptr<kube::Informer<NamespaceObject>> namespaces;
  std::unique_ptr<kube::Informer<PriorityClassObject>> classes;
  std::unique_ptr<kube::Informer<kube::Node>> nodes;
  std::unique_ptr<kube::EventRecorder> recorder;
  std::unique_ptr<net::Scope> scope;
};

TEST_F(WebhooksTest, PatchAppliesOnTheApiServer) {
  profile(
      R"({"selector":{"matchLabels":{"app":"spark"}},"qosClass":"BE","priorityClassName":"koord-batch",)"
      R"("patch":{"spec":{"containers":[{"name":"m","env":[{"name":"A","value":"1"}]}],"tolerations":[{"key":"x"}]}}})");
  follow();
  // The PriorityClass is made after the caches were filled: the API server is asked.
  Json made = named("koord-batch");
  made["value"] = 5000;
  must("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", made);
  const auto admission = handlers();
  const auto answer = ask(admission->mutate_pod(request(pod("a"))));
  ASSERT_TRUE(answer.allowed) << answer.message;
  Json patched = pod("a");
  ASSERT_TRUE(kube::memory::apply_json_patch(patched, answer.patch));
  EXPECT_EQ(patched.at("spec", "priority")->as_int(), 5000);
  const Json& container = patched.at("spec", "containers")->as_array()[0];
  EXPECT_EQ(container.text_at("image"), "i");  // merged by name, not replaced
  EXPECT_EQ(container.at("env")->as_array()[0].text_at("name"), "A");
  EXPECT_EQ(container.at("resources", "requests")->dump(), R"({"kubernetes.io/batch-cpu":"1k"})");
}

// Counts what is asked beside the caches.
class CountingReader final : public kube::Reader {
 public:
  explicit CountingReader(kube::Reader& reader) : reader_(reader) {}
  net::Task<Result<std::string>> get(const kube::Resource& resource, std::string_view ns, std::string_view name,
                                     base::Duration limit) override {
    ++gets;
    return reader_.get(resource, ns, name, limit);
  }
  net::Task<Result<std::string>> list(const kube::Resource& resource, kube::ListOptions options,
                                      std::function<Result<void>(std::string_view)> on_page,
                                      std::function<void()> on_restart, base::Duration limit) override {
    return reader_.list(resource, std::move(options), std::move(on_page), std::move(on_restart), limit);
  }
  int gets = 0;

 private:
  kube::Reader& reader_;
};

TEST_F(WebhooksTest, LooksUpAMissingPriorityClassAtIntervals) {
  profile(R"({"selector":{"matchLabels":{"app":"spark"}},"priorityClassName":"gone"})");
  follow();
  CountingReader counting(*client);
  const auto admission = handlers({}, &counting);
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(ask(admission->mutate_pod(request(pod("a")))).allowed);
  EXPECT_EQ(counting.gets, 1);
  run_for(kMissingKept + 1s);
  EXPECT_FALSE(ask(admission->mutate_pod(request(pod("a")))).allowed);
  EXPECT_EQ(counting.gets, 2);
  // Names without end, of namespaces here, are held to a rate.
  for (int i = 0; i < 200; ++i) ask(admission->mutate_pod(request(pod("a"), base::cat("nowhere-", i))));
  EXPECT_LE(counting.gets, 2 + kLookupsBurst + 10);
}

TEST_F(WebhooksTest, AllowsUnrelatedRequests) {
  follow();
  const auto admission = handlers();
  for (auto change :
       {+[](AdmissionRequest& r) { r.resource = "nodes"; }, +[](AdmissionRequest& r) { r.subresource = "status"; },
        +[](AdmissionRequest& r) { r.operation = AdmissionOperation::kDelete; }}) {
    auto asked = request(Json::object({{"metadata", 7}}));
    change(asked);
    EXPECT_TRUE(ask(admission->mutate_pod(asked)).allowed);
    EXPECT_TRUE(ask(admission->validate_pod(asked)).allowed);
    EXPECT_TRUE(ask(admission->validate_config_map(asked)).allowed);
  }
  EXPECT_FALSE(ask(admission->mutate_pod(request(Json::object({{"metadata", 7}})))).allowed);
}

TEST_F(WebhooksTest, UnknownNamespaceMatchesOnlyInKoordinatorProfile) {
  profile(R"({"namespaceSelector":{"matchLabels":{"offline":"yes"}},"labels":{"in":"yes"}})");
  follow();
  const auto matched = ask(handlers()->mutate_pod(request(pod("a"), "nowhere")));
  EXPECT_FALSE(matched.patch.as_array().empty());
  ASSERT_EQ(matched.warnings.size(), 1U);
  policy::admission::AdmissionRules ours;
  ours.parity = policy::admission::Parity::kTidemark;
  EXPECT_TRUE(ask(handlers(ours)->mutate_pod(request(pod("a"), "nowhere"))).patch.as_array().empty());
  EXPECT_TRUE(ask(handlers()->mutate_pod(request(pod("a")))).patch.as_array().empty());  // known, and has not the label
}

// Evictions: contract 7.4 (policy/v1, with a UID precondition).
class EvictionsTest : public WebhooksTest {
 protected:
  void SetUp() override {
    WebhooksTest::SetUp();
    follow();
    for (const auto* node : {"n1", "n2"}) {
      Json made = pod(base::cat("on-", node));
      made["metadata"]["labels"]["koordinator.sh/qosClass"] = "BE";
      made["spec"]["nodeName"] = node;
      must("POST", kPodsPath, made);
    }
    Json online = pod("online");
    online["spec"]["nodeName"] = "n1";
    must("POST", kPodsPath, online);
  }
  AdmissionRequest eviction(std::string name, std::string node = "n1", std::string user = "agent") {
    AdmissionRequest out = request(Json::object({{"apiVersion", "policy/v1"}, {"kind", "Eviction"}}));
    out.subresource = "eviction";
    out.object["deleteOptions"]["preconditions"]["uid"] =
        name == "gone" ? Json("u") : Json(read_pod(name).text_at("metadata", "uid"));
    out.name = std::move(name);
    out.user = std::move(user);
    out.user_node = std::move(node);
    return out;
  }
  static std::string said(const AdmissionAnswer& answer) {
    return answer.allowed ? "allowed" : base::cat(answer.code, " ", answer.causes.front().reason);
  }
  std::string said(AdmissionRequest request) { return said(ask(admission->validate_eviction(std::move(request)))); }

  std::unique_ptr<AdmissionHandlers> admission = nullptr;
};

TEST_F(EvictionsTest, AllowsOfflineWorkOfTheOwnNode) {
  admission = handlers();
  EXPECT_EQ(said(eviction("on-n1")), "allowed");
  EXPECT_EQ(said(eviction("on-n2")), "403 AnotherNode");
  EXPECT_EQ(said(eviction("on-n2", "n2")), "allowed");
  EXPECT_EQ(said(eviction("online")), "403 Online");
  EXPECT_EQ(said(eviction("on-n1", "")), "403 NoNode");
  EXPECT_EQ(said(eviction("gone")), "404 Gone");
  AdmissionRequest any_pod = eviction("on-n1");
  any_pod.object = Json::object();
  EXPECT_EQ(said(any_pod), "400 NoUid");
  // The same name, another pod: it was deleted and made again since the agent looked.
  AdmissionRequest earlier = eviction("on-n1");
  must("DELETE", base::cat(kPodsPath, "/on-n1?gracePeriodSeconds=0"), nullptr);
  Json again = pod("on-n1");
  again["metadata"]["labels"]["koordinator.sh/qosClass"] = "BE";
  again["spec"]["nodeName"] = "n1";
  must("POST", kPodsPath, again);
  EXPECT_EQ(said(earlier), "409 AnotherPod");
  EXPECT_EQ(said(eviction("on-n1")), "allowed");
}

TEST_F(EvictionsTest, EnforcesTheJobLimit) {
  admission = handlers();
  limit = {policy::admission::EvictionDenial::kJobBudget, 429, "team/Job/sort was evicted 3 times within the hour",
           "3"};
  EXPECT_EQ(said(eviction("on-n1")), "429 JobBudget");
  EXPECT_EQ(said(eviction("online")), "403 Online") << "what may never be evicted is told first";
  const AdmissionAnswer answer = ask(admission->validate_eviction(eviction("on-n1")));
  EXPECT_EQ(answer.message,
            "the job team/Job/sort was evicted 3 times within the hour, and 3 are allowed: perJobHour of its pool "
            "[JobBudget]");
  EXPECT_EQ(answer.reason, "TooManyRequests");
  AdmissionRequest trial = eviction("on-n1");
  trial.dry_run = true;
  EXPECT_EQ(said(trial), "allowed") << "a trial takes nothing of what may be lost";
}

TEST_F(EvictionsTest, IgnoresEvictionsByOtherUsers) {
  CountingReader counting(*client);
  admission = handlers({}, &counting);
  for (const auto* user : {"system:admin", "", "agent2", "Agent"}) {
    EXPECT_EQ(said(eviction("online", "", user)), "allowed") << user;
  }
  AdmissionRequest other = eviction("online");
  other.subresource = "";
  EXPECT_EQ(said(other), "allowed");
  EXPECT_EQ(counting.gets, 0);
}

// A manager that cannot look the pod up does not let it go.
TEST_F(EvictionsTest, DeniesIfThePodCannotBeRead) {
  class Unreachable final : public kube::Reader {
   public:
    Error error{ErrorKind::kUnavailable, "connection refused"};
    net::Task<Result<std::string>> get(const kube::Resource&, std::string_view, std::string_view,
                                       base::Duration) override {
      co_return fail(error);
    }
    net::Task<Result<std::string>> list(const kube::Resource&, kube::ListOptions,
                                        std::function<Result<void>(std::string_view)>, std::function<void()>,
                                        base::Duration) override {
      co_return fail(ErrorKind::kUnavailable, "connection refused");
    }
  } unreachable;
  admission = handlers({}, &unreachable);
  for (const Error& later : {Error{ErrorKind::kUnavailable, "connection refused"}, Error{ErrorKind::kDeadline, "2 s"},
                             Error{ErrorKind::kUnavailable, "too many", 429}, Error{ErrorKind::kIo, "no etcd", 500}}) {
    unreachable.error = later;
    EXPECT_EQ(said(eviction("on-n1")), "503 NotKnown") << later.message;
  }
  unreachable.error = {ErrorKind::kDenied, "no right", 403};
  EXPECT_EQ(said(eviction("on-n1")), "503 Unreadable") << "which does not change by itself";
}

TEST_F(EvictionsTest, EnforcesARate) {
  // No time passes while it answers.
  class AtOnce final : public kube::Reader {
   public:
    explicit AtOnce(std::string pod) : pod_(std::move(pod)) {}
    net::Task<Result<std::string>> get(const kube::Resource&, std::string_view, std::string_view,
                                       base::Duration) override {
      ++gets;
      co_return pod_;
    }
    net::Task<Result<std::string>> list(const kube::Resource&, kube::ListOptions,
                                        std::function<Result<void>(std::string_view)>, std::function<void()>,
                                        base::Duration) override {
      co_return fail(ErrorKind::kUnavailable, "this reader has no lists");
    }
    int gets = 0;

   private:
    std::string pod_;
  } reader(read_pod("on-n1").dump());
  admission = handlers({}, &reader);
  const AdmissionRequest one = eviction("on-n1");
  std::map<std::string, int> seen;
  for (int i = 0; i < kEvictionsBurst + 200; ++i) ++seen[said(one)];
  EXPECT_GT(seen["503 TooMany"], 100);
  EXPECT_EQ(reader.gets, seen["allowed"]);
  const AdmissionAnswer busy = ask(admission->validate_eviction(one));
  EXPECT_TRUE(busy.message.ends_with("retry in a few seconds [TooMany]")) << busy.message;
  run_for(1s);
  EXPECT_EQ(said(one), "allowed");
}

// A process that may read everything and write nothing.
class Forbidden final : public kube::Writer {
 public:
  net::Task<Result<std::string>> create(const kube::Resource&, std::string, kube::WriteOptions, std::string_view,
                                        base::Duration) override {
    co_return fail(ErrorKind::kDenied, "forbidden");
  }
  net::Task<Result<std::string>> patch(const kube::Resource&, std::string_view, kube::PatchType, std::string,
                                       kube::WriteOptions, base::Duration) override {
    ++patches;
    co_return fail(ErrorKind::kDenied, "forbidden");
  }
  net::Task<Result<void>> remove(const kube::Resource&, std::string_view, std::string, kube::WriteOptions,
                                 base::Duration) override {
    co_return fail(ErrorKind::kDenied, "forbidden");
  }
  int patches = 0;
};

class ReconcilerTest : public WebhooksTest {
 protected:
  void start(ProfileControllerOptions options = {}, bool by_default = true) {
    options.by_default = by_default;
    if (writer == nullptr) writer = client.get();
    reconciler = std::make_unique<ProfileController>(
        Shared{loop, *client, *client, *writer, *recorder, interner, log, metrics},
        ProfileContext{*profiles, *namespaces, [this](const Json&) { return pod_scope; }, [this] { return leading; }},
        base::Random(4), options);
    follow();
    reconciler->start();
    run_for(3s);
  }
  void TearDown() override {
    reconciler.reset();
    WebhooksTest::TearDown();
  }
  bool leading = true;
  Forbidden forbidden;
  kube::Writer* writer = nullptr;
  policy::state::PodScopeState pod_scope;
  std::unique_ptr<ProfileController> reconciler;
};

TEST_F(ReconcilerTest, CatchesUpOnceAndOnlyWhileItLeads) {
  profile(R"({"selector":{"matchLabels":{"app":"spark"}},"qosClass":"BE","labelSuffixes":{"app":"-x"}})");
  must("POST", kPodsPath, pod("missed"));
  leading = false;
  start();
  EXPECT_EQ(read_pod("missed").text_at("metadata", "labels", "koordinator.sh/qosClass"), "");
  leading = true;
  run_for(31s);
  EXPECT_EQ(read_pod("missed").text_at("metadata", "labels", "koordinator.sh/qosClass"), "BE");
  const std::string revision(read_pod("missed").text_at("metadata", "resourceVersion"));
  run_for(10min);
  EXPECT_EQ(read_pod("missed").text_at("metadata", "labels", "app"), "spark-x");
  EXPECT_EQ(read_pod("missed").text_at("metadata", "resourceVersion"), revision);
}

// A profile may match the labels that another one gave: the webhook looked at those that the pod came with.
TEST_F(ReconcilerTest, LeavesPodsAloneWhoseProfilesDoNotAskForIt) {
  profile(R"({"selector":{"matchLabels":{"app":"spark"}},"qosClass":"BE"})");
  must("POST", kPodsPath, pod("handled"));
  start({}, ProfileControllerOptions().by_default);
  run_for(31s);
  EXPECT_EQ(read_pod("handled").text_at("metadata", "labels", "koordinator.sh/qosClass"), "");
}

TEST_F(ReconcilerTest, WhileOffDoesNotConvertPods) {
  profile(R"({"selector":{"matchLabels":{"app":"spark"}},"qosClass":"BE"})");
  must("POST", kPodsPath, pod("missed"));
  pod_scope.off = true;
  ProfileControllerOptions options;
  options.while_off = policy::admission::WhileOff::kPlain;
  start(options);
  run_for(31s);
  EXPECT_EQ(read_pod("missed").text_at("metadata", "labels", "koordinator.sh/qosClass"), "");
}

TEST_F(ReconcilerTest, RetriesAForbiddenChangeInTheNextPass) {
  profile(R"({"selector":{"matchLabels":{"app":"spark"}},"qosClass":"BE"})");
  must("POST", kPodsPath, pod("missed"));
  writer = &forbidden;
  start();
  run_for(100s);
  EXPECT_GE(forbidden.patches, 3);
  EXPECT_LE(forbidden.patches, 5) << "one in 30 s";
}

TEST_F(ReconcilerTest, KeepsToItsRate) {
  profile(R"({"selector":{"matchLabels":{"app":"spark"}},"qosClass":"BE"})");
  for (int i = 0; i < 12; ++i) must("POST", kPodsPath, pod(base::cat("p", i)));
  ProfileControllerOptions options;
  options.updates_per_second = 1;
  options.update_burst = 2;
  start(options);
  const auto done = [&] {
    int count = 0;
    for (int i = 0; i < 12; ++i) {
      count += read_pod(base::cat("p", i)).text_at("metadata", "labels", "koordinator.sh/qosClass") == "BE" ? 1 : 0;
    }
    return count;
  };
  EXPECT_LE(done(), 6);
  run_for(15s);
  EXPECT_EQ(done(), 12);
}

}  // namespace
}  // namespace tidemark::manager
