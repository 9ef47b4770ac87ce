// What happens between a write and its log, around a definition's end, and with objects made to hurt.
#include <gtest/gtest.h>

#include "base/text.h"
#include "kube/memory/collector.h"
#include "kube/memory/registry.h"
#include "kube/memory/testing/server_fixture.h"

namespace tidemark::kube::memory {
namespace {

using base::cat;

constexpr const char* kServerRaceMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kGangs = "/apis/x.io/v1/namespaces/default/gangs";
constexpr const char* kCrd = R"({"metadata":{"name":"gangs.x.io"},"spec":{"group":"x.io","scope":"Namespaced",
  "names":{"plural":"gangs","kind":"Gang"},"versions":[{"name":"v1","served":true,"storage":true,"schema":
  {"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";
constexpr const char* kGang = R"({"apiVersion":"x.io/v1","kind":"Gang","metadata":{"name":"g"},"spec":{"a":"1"}})";

class ServerRaceTest : public testing::ServerFixture {
 protected:
  // A log that answers only while the gate is open.
  void SetUp() override {
    gate_.set();
    ServerConfig config;
    config.store.log = [this](std::vector<LogRecord> records) -> net::Task<Result<void>> {
      co_await gate_.wait();
      records_.insert(records_.end(), records.begin(), records.end());
      if (refuse_after_ == 0) co_return fail(ErrorKind::kUnavailable, "the disk is full");
      if (refuse_after_ > 0) --refuse_after_;
      co_return Result<void>();
    };
    start(std::move(config));
    loop_.run_ready();
  }
  void TearDown() override {
    transport_.reset();
    server_.reset();
  }
  Registry& registry() { return server_->registry(); }
  KindPtr kind(std::string_view group, std::string_view plural) { return registry().kinds().find_group(group, plural); }
  net::Task<void> put(std::string target, std::string body, int& status) {
    net::HttpRequest request;
    request.method = "PUT";
    request.target = std::move(target);
    request.body = std::move(body);
    const auto answer = co_await transport_->fetch(std::move(request), std::chrono::hours(1));
    status = answer ? answer->status : -1;
  }

  net::Event gate_{loop_};
  std::vector<LogRecord> records_;  // all that the log was given
  int refuse_after_ = -1;           // batches that the log takes before it refuses all; negative: never
};

TEST_F(ServerRaceTest, UnchangedWriteWaitsForTheWriteItMatches) {
  ASSERT_EQ(post(kServerRaceMaps, R"({"metadata":{"name":"m"}})").status, 201);
  gate_.clear();
  net::Scope scope(loop_);
  int first = 0;
  int second = 0;
  const std::string body = R"({"metadata":{"name":"m"},"data":{"k":"v"}})";
  scope.spawn(put(cat(kServerRaceMaps, "/m"), body, first));
  scope.spawn(put(cat(kServerRaceMaps, "/m"), body, second));
  loop_.run_ready();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 0) << "told before it is durable";
  gate_.set();
  loop_.run_ready();
  EXPECT_EQ(first, 200);
  EXPECT_EQ(second, 200);
}

TEST_F(ServerRaceTest, RefusesObjectsOfAKindThatIsBeingDeleted) {
  ASSERT_EQ(post(kDefinitions, kCrd).status, 201);
  gate_.clear();
  ASSERT_TRUE(registry().remove(kind("apiextensions.k8s.io", "customresourcedefinitions"), "", "gangs.x.io", {}));
  const auto made = registry().create(kind("x.io", "gangs"), "v1", "default", *Json::parse(kGang), {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, 405);
  gate_.set();
  loop_.run_ready();
  EXPECT_EQ(get(cat(kDefinitions, "/gangs.x.io")).status, 404);
}

TEST_F(ServerRaceTest, OfTwoConcurrentDefinitionsOneGetsTheName) {
  const KindPtr definitions = kind("apiextensions.k8s.io", "customresourcedefinitions");
  Json second = *Json::parse(kCrd);
  second["metadata"]["name"] = "bands.x.io";
  second["spec"]["names"]["plural"] = "bands";
  second["spec"]["names"]["singular"] = "band";
  gate_.clear();
  ASSERT_TRUE(registry().create(definitions, "v1", "", *Json::parse(kCrd), {}));
  ASSERT_TRUE(registry().create(definitions, "v1", "", second, {}));
  gate_.set();
  loop_.run_ready();
  const auto accepted = [&](const char* name) {
    return get(cat(kDefinitions, "/", name)).body.at("status", "conditions")->as_array()[0].text_at("status") == "True";
  };
  EXPECT_TRUE(accepted("gangs.x.io"));
  EXPECT_FALSE(accepted("bands.x.io"));
  EXPECT_EQ(get("/apis/x.io/v1/gangs").status, 200);
  EXPECT_EQ(get("/apis/x.io/v1/bands").status, 404);
  ASSERT_EQ(call("DELETE", cat(kDefinitions, "/gangs.x.io")).status, 200);
  loop_.run_ready();
  EXPECT_TRUE(accepted("bands.x.io"));
  EXPECT_EQ(get("/apis/x.io/v1/bands").status, 200);
}

TEST_F(ServerRaceTest, KeepsADependentWithoutItsOwnerReference) {
  for (const char* policy : {"Background", "Foreground"}) {
    const Reply owner = post(kServerRaceMaps, R"({"metadata":{"name":"o"}})");
    post(kServerRaceMaps,
         cat(R"({"metadata":{"name":"d","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o",)",
             R"("blockOwnerDeletion":true,"uid":")", owner.body.text_at("metadata", "uid"), R"("}]}})"));
    DeleteRequest request;
    request.propagation = policy;
    ASSERT_TRUE(registry().remove(kind("", "configmaps"), "default", "o", request));
    // The deletion becomes durable; the letting go is on its way when the collector looks.
    gate_.clear();
    loop_.run_ready();
    ASSERT_TRUE(registry().patch({kind("", "configmaps"), "v1", "default", "d"}, PatchKind::kMerge,
                                 *Json::parse(R"({"metadata":{"ownerReferences":null}})"), {}));
    gate_.set();
    loop_.run_ready();
    EXPECT_EQ(get(cat(kServerRaceMaps, "/o")).status, 404) << policy;
    EXPECT_EQ(get(cat(kServerRaceMaps, "/d")).status, 200) << policy;
    call("DELETE", cat(kServerRaceMaps, "/d"));
  }
}

TEST_F(ServerRaceTest, ABoundPodThatIsDeletedInTheForegroundWaitsForItsNode) {
  post(kPods, R"({"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})");
  call("DELETE", cat(kPods, "/p?propagationPolicy=Foreground"));
  loop_.run_ready();
  const Reply held = get(cat(kPods, "/p"));
  EXPECT_EQ(held.status, 200);
  EXPECT_EQ(held.body.at("metadata", "finalizers"), nullptr);
  EXPECT_EQ(call("DELETE", cat(kPods, "/p?gracePeriodSeconds=0")).status, 200);
  EXPECT_EQ(get(cat(kPods, "/p")).status, 404);
}

// A request whose body comes when the test says so.
class LateBody final : public net::HttpExchange {
 public:
  LateBody(net::EventLoop& loop, std::string method, std::string target, std::string body)
      : come(loop), body_(std::move(body)) {
    head_.method = std::move(method);
    head_.target = std::move(target);
    peer_.certificate_common_name = "test";
  }
  const net::HttpRequest& head() const override { return head_; }
  const net::Peer& peer() const override { return peer_; }
  net::Task<Result<std::string>> body(std::size_t) override {
    co_await come.wait();
    co_return body_;
  }
  void respond(int code, net::Headers, net::Buffer) override { status = code; }
  void start(int code, net::Headers) override { status = code; }
  net::Task<Result<void>> write(net::Buffer, base::Duration) override { co_return Result<void>(); }
  void abort() override {}
  void declare(std::size_t bytes) { head_.headers.set("content-length", cat(bytes)); }

  net::Event come;
  int status = 0;

 private:
  net::HttpRequest head_;
  net::Peer peer_;
  std::string body_;
};

TEST_F(ServerRaceTest, BodiesBeingReadHaveABudget) {
  ServerConfig config;
  config.bodies_bytes_max = 4 * 1024 * 1024;
  start(std::move(config));
  const std::string large = cat(R"({"metadata":{"name":"l"},"data":{"k":")", std::string(1'000'000, 'x'), "\"}}");
  const net::HttpHandler handler = server_->handler();
  {
    LateBody parked(loop_, "POST", kServerRaceMaps, large);
    parked.declare(3 * 1024 * 1024);
    LateBody second(loop_, "POST", kServerRaceMaps, large);  // as long as any may be
    LateBody small(loop_, "POST", kServerRaceMaps, R"({"metadata":{"name":"s"}})");
    small.declare(25);
    net::Scope scope(loop_);
    scope.spawn(handler(parked));
    scope.spawn(handler(second));
    scope.spawn(handler(small));
    second.come.set();
    small.come.set();
    loop_.run_ready();
    EXPECT_EQ(small.status, 201) << "a small one does not wait";
    EXPECT_EQ(second.status, 0);
    clock_.advance(std::chrono::seconds(5));
    loop_.run_ready();
    EXPECT_EQ(second.status, 429);
    LateBody third(loop_, "POST", kServerRaceMaps, large);
    third.come.set();
    scope.spawn(handler(third));
    loop_.run_ready();
    EXPECT_EQ(third.status, 0);
    parked.come.set();
    loop_.run_ready();
    EXPECT_EQ(parked.status, 201);
    EXPECT_EQ(third.status, 409) << "it had its turn when the first one was done";
  }
  EXPECT_EQ(get(cat(kServerRaceMaps, "/l")).status, 200);
}

TEST_F(ServerRaceTest, UsesTheDefinitionInForceAfterTheBodyIsRead) {
  ASSERT_EQ(post(kDefinitions, kCrd).status, 201);
  LateBody gone(loop_, "POST", kGangs, kGang);
  LateBody swept(loop_, "DELETE", kGangs, "");
  net::Scope scope(loop_);
  const net::HttpHandler handler = server_->handler();
  scope.spawn(handler(gone));
  scope.spawn(handler(swept));
  loop_.run_ready();
  ASSERT_EQ(call("DELETE", cat(kDefinitions, "/gangs.x.io")).status, 200);
  loop_.run_ready();
  gone.come.set();
  swept.come.set();
  loop_.run_ready();
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(swept.status, 404);
}

TEST_F(ServerRaceTest, ClampsTimesOutOfRange) {
  post(kPods, R"({"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})");
  const Reply going = call("DELETE", cat(kPods, "/p?gracePeriodSeconds=9223372036854775807"));
  EXPECT_TRUE(going.body.text_at("metadata", "deletionTimestamp").starts_with("2125-")) << going.text;
  EXPECT_NE(watch(cat(kServerRaceMaps, "?watch=1&timeoutSeconds=9223372036854775807")), nullptr);
}

TEST_F(ServerRaceTest, RefusesObjectsThatCouldNotBeReadBack) {
  post(kDefinitions, kCrd);
  ASSERT_EQ(post(kGangs, kGang).status, 201);
  const auto nested = [](int levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  const auto deepen = [&](std::string_view path, int levels) {
    return call("PATCH", cat(kGangs, "/g"),
                cat(R"([{"op":"add","path":")", path, R"(","value":)", nested(levels), "}]"),
                "application/json-patch+json");
  };
  ASSERT_EQ(deepen("/spec/b", 70).status, 200);
  // The path needs elements to walk along.
  std::string walk = "[1]";
  for (int i = 0; i < 60; ++i) walk = cat("[", walk, "]");
  ASSERT_EQ(merge(cat(kGangs, "/g"), cat(R"({"spec":{"b":)", walk, "}}")).status, 200);
  std::string bottom = "/spec/b";
  for (int i = 0; i < 60; ++i) bottom += "/0";
  const Reply refused = deepen(cat(bottom, "/0"), 70);
  EXPECT_EQ(refused.status, 422) << refused.text.substr(0, 200);
  EXPECT_EQ(get(cat(kGangs, "/g")).status, 200);
  EXPECT_EQ(call("GET", kGangs, "", "", "application/yaml").status, 200);
}

TEST_F(ServerRaceTest, LaterSelectableFieldSelectsOlderObjects) {
  ASSERT_EQ(post(kDefinitions, kCrd).status, 201);
  ASSERT_EQ(post(kGangs, kGang).status, 201);
  const auto stream = watch(cat(kGangs, "?watch=1&resourceVersion=", server_->store().revision()));
  const Reply named =
      call("PATCH", cat(kDefinitions, "/gangs.x.io"),
           R"([{"op":"add","path":"/spec/versions/0/selectableFields","value":[{"jsonPath":".spec.a"}]}])",
           "application/json-patch+json");
  ASSERT_EQ(named.status, 200) << named.text;
  EXPECT_EQ(get(cat(kGangs, "?fieldSelector=spec.a%3D1")).body.at("items")->as_array().size(), 1u);
  std::string buffer;
  EXPECT_EQ(next_line(*stream, buffer).text_at("object", "reason"), "Expired");
  // A write that was staged before another definition is committed.
  gate_.clear();
  const Json other = *Json::parse(R"([{"op":"replace","path":"/spec/versions/0/selectableFields",
                                       "value":[{"jsonPath":".spec.b"},{"jsonPath":".spec.a"}]}])");
  const KindPtr definitions = kind("apiextensions.k8s.io", "customresourcedefinitions");
  ASSERT_TRUE(registry().patch({definitions, "v1", "", "gangs.x.io"}, PatchKind::kJson, other, {}));
  ASSERT_TRUE(registry().patch({kind("x.io", "gangs"), "v1", "default", "g"}, PatchKind::kMerge,
                               *Json::parse(R"({"spec":{"b":"2"}})"), {}));
  gate_.set();
  loop_.run_ready();
  EXPECT_EQ(get(cat(kGangs, "?fieldSelector=spec.a%3D1,spec.b%3D2")).body.at("items")->as_array().size(), 1u);
}

TEST_F(ServerRaceTest, RevisionsOfAnEarlierProcessAreNotReused) {
  ASSERT_EQ(post(kServerRaceMaps, R"({"metadata":{"name":"a"}})").status, 201);
  const std::int64_t seen = server_->store().revision();
  clock_.advance(std::chrono::seconds(1));
  start();
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(post(kServerRaceMaps, cat(R"({"metadata":{"name":"b)", i, R"("}})")).status, 201);
  const auto stream = watch(cat(kServerRaceMaps, "?watch=1&resourceVersion=", seen));
  ASSERT_NE(stream, nullptr);
  std::string buffer;
  EXPECT_EQ(next_line(*stream, buffer).text_at("object", "reason"), "Expired");
}

TEST_F(ServerRaceTest, KeepsDependentsOfAnUnknownOwner) {
  const char* alone = R"({"metadata":{"name":"d","ownerReferences":[
    {"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"8a0c0f9e-0000-4000-8000-000000000001"}]}})";
  ASSERT_EQ(post(kServerRaceMaps, alone).status, 201);
  const Reply owner = post(kServerRaceMaps, R"({"metadata":{"name":"o"}})");
  post(kServerRaceMaps,
       cat(R"({"metadata":{"name":"kept","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o",)",
           R"("uid":")", owner.body.text_at("metadata", "uid"), R"("}]}})"));
  loop_.run_ready();
  ASSERT_EQ(get(cat(kServerRaceMaps, "/d")).status, 200);
  Collector started(loop_, base::Log(clock_, {.write = [](std::string_view) {}}), registry());
  started.resume();
  loop_.run_ready();
  EXPECT_EQ(get(cat(kServerRaceMaps, "/d")).status, 200);
  EXPECT_EQ(get(cat(kServerRaceMaps, "/kept")).status, 200);
}

TEST_F(ServerRaceTest, LogKeepsADeletedOwnerUntilItsDependentsAreGone) {
  const Reply owner = post(kServerRaceMaps, R"({"metadata":{"name":"o"}})");
  const std::string uid(owner.body.text_at("metadata", "uid"));
  post(kServerRaceMaps, cat(R"({"metadata":{"name":"d","finalizers":["x.io/a"],"ownerReferences":[{"apiVersion":"v1",)",
                            R"("kind":"ConfigMap","name":"o","uid":")", uid, R"("}]}})"));
  records_.clear();
  ASSERT_EQ(call("DELETE", cat(kServerRaceMaps, "/o")).status, 200);
  loop_.run_ready();
  ASSERT_GE(records_.size(), 2u);
  EXPECT_EQ(cat(records_[0].storage, " ", records_[0].key), "configmaps default/o");
  EXPECT_EQ(cat(records_[1].storage, " ", records_[1].key), cat("gone owners ", uid)) << "in the same transaction";
  EXPECT_NE(records_[1].body, nullptr);
  EXPECT_TRUE(server_->store().is_gone(uid));
  ASSERT_EQ(merge(cat(kServerRaceMaps, "/d"), R"({"metadata":{"finalizers":null}})").status, 200);
  EXPECT_FALSE(server_->store().is_gone(uid));
  records_.clear();
  ASSERT_EQ(post(kServerRaceMaps, R"({"metadata":{"name":"next"}})").status, 201);
  ASSERT_EQ(records_.size(), 2u) << "the next write takes it off the list";
  EXPECT_EQ(records_[0].key, uid);
  EXPECT_EQ(records_[0].body, nullptr);
  records_.clear();
  ASSERT_EQ(call("DELETE", cat(kServerRaceMaps, "/next")).status, 200);
  EXPECT_EQ(records_.size(), 1u) << "who owns nothing leaves nothing";
}

TEST_F(ServerRaceTest, ForegroundDeletionContinuesAfterADependentDropsItsOwner) {
  for (const bool whole : {true, false}) {
    const Reply owner = post(kServerRaceMaps, R"({"metadata":{"name":"o"}})");
    const auto reference = [&](const char* blocks) {
      return cat(R"("ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","blockOwnerDeletion":)", blocks,
                 R"(,"uid":")", owner.body.text_at("metadata", "uid"), R"("}])");
    };
    post(kServerRaceMaps, cat(R"({"metadata":{"name":"d","finalizers":["x.io/a"],)", reference("true"), "}}"));
    call("DELETE", cat(kServerRaceMaps, "/o?propagationPolicy=Foreground"));
    loop_.run_ready();
    ASSERT_EQ(get(cat(kServerRaceMaps, "/o")).status, 200) << "it waits for its dependent";
    const std::string patch =
        whole ? R"({"metadata":{"ownerReferences":null}})" : cat(R"({"metadata":{)", reference("false"), "}}");
    ASSERT_EQ(merge(cat(kServerRaceMaps, "/d"), patch).status, 200);
    loop_.run_ready();
    EXPECT_EQ(get(cat(kServerRaceMaps, "/o")).status, 404) << patch;
    merge(cat(kServerRaceMaps, "/d"), R"({"metadata":{"finalizers":null}})");
    loop_.run_ready();
  }
}

TEST_F(ServerRaceTest, CollectorRetriesWhenTheLogRefuses) {
  const Reply owner = post(kServerRaceMaps, R"({"metadata":{"name":"o"}})");
  post(kServerRaceMaps,
       cat(R"({"metadata":{"name":"d","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o",)",
           R"("uid":")", owner.body.text_at("metadata", "uid"), R"("}]}})"));
  ASSERT_EQ(post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})").status, 201);
  ASSERT_EQ(post("/api/v1/namespaces/n/configmaps", R"({"metadata":{"name":"m"}})").status, 201);
  // Both requests are stored; what the collector does about them is not.
  ASSERT_TRUE(registry().remove(kind("", "configmaps"), "default", "o", {}));
  ASSERT_TRUE(registry().remove(kind("", "namespaces"), "", "n", {}));
  refuse_after_ = 1;
  loop_.run_ready();
  ASSERT_EQ(get(cat(kServerRaceMaps, "/o")).status, 404);
  ASSERT_EQ(get(cat(kServerRaceMaps, "/d")).status, 200);
  ASSERT_EQ(get("/api/v1/namespaces/n/configmaps/m").status, 200);
  refuse_after_ = -1;
  for (int i = 0; i < 5; ++i) {
    clock_.advance(std::chrono::seconds(1));
    loop_.run_ready();
  }
  EXPECT_EQ(get(cat(kServerRaceMaps, "/d")).status, 404);
  EXPECT_EQ(get("/api/v1/namespaces/n").status, 404);
}

TEST_F(ServerRaceTest, WatchFromAnEarlierProcessGets410) {
  const auto stream = watch(cat(kServerRaceMaps, "?watch=1&resourceVersion=9999999999999999"));
  ASSERT_NE(stream, nullptr);
  std::string buffer;
  const Json line = next_line(*stream, buffer);
  EXPECT_EQ(line.text_at("type"), "ERROR");
  EXPECT_EQ(line.text_at("object", "reason"), "Expired");
}

TEST_F(ServerRaceTest, ManyUnknownMembersDoNotBlockTheLoop) {
  // Members erased one by one would take a quarter of an hour here, and its warnings would be 3 MB of header fields.
  std::string body = R"({"metadata":{"name":"m"})";
  for (int i = 0; i < 200'000; ++i) body += cat(",\"x", i, "\":1");
  const Reply made = post(kServerRaceMaps, body + "}");
  EXPECT_EQ(made.status, 201);
  EXPECT_LE(made.headers.size(), 110u);
  post(kDefinitions, R"({"metadata":{"name":"wings.x.io"},"spec":{"group":"x.io","scope":"Namespaced",
    "names":{"plural":"wings","kind":"Wing"},"versions":[{"name":"v1","served":true,"storage":true,"schema":
    {"openAPIV3Schema":{"type":"object"}}}]}})");
  body.replace(0, 1, R"({"apiVersion":"x.io/v1","kind":"Wing",)");
  const Reply wing = post("/apis/x.io/v1/namespaces/default/wings", body + "}");
  EXPECT_EQ(wing.status, 201) << wing.text.substr(0, 200);
  EXPECT_LE(wing.headers.size(), 110u);
}

}  // namespace
}  // namespace tidemark::kube::memory
