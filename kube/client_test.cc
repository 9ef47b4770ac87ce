// The client: what goes over the wire.
#include <gtest/gtest.h>

#include <string>

#include "kube/actions.h"
#include "kube/testing/scripted_transport.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;
using testing::ClientTest;

TEST_F(ClientTest, Paths) {
  EXPECT_EQ(resource_path(kNodes, "", "n1", "status"), "/api/v1/nodes/n1/status");
  EXPECT_EQ(resource_path(kPods, "", ""), "/api/v1/pods");
  EXPECT_EQ(resource_path(kPods, "a", "b", "eviction"), "/api/v1/namespaces/a/pods/b/eviction");
  EXPECT_EQ(resource_path(kLeases, "a", "b"), "/apis/coordination.k8s.io/v1/namespaces/a/leases/b");
  EXPECT_EQ(resource_path(kNodeMetrics, "ignored", "n"), "/apis/slo.koordinator.sh/v1alpha1/nodemetrics/n");
  EXPECT_EQ(resource_path(kPods, "a/../b", "c?d"), "/api/v1/namespaces/a%2F..%2Fb/pods/c%3Fd");
}

TEST_F(ClientTest, GetSendsTheCurrentToken) {
  transport.answers = {{.body = "{\"a\":1}"}};
  EXPECT_EQ(get().value(), "{\"a\":1}");
  EXPECT_EQ(request().method, "GET");
  EXPECT_EQ(request().target, "/api/v1/namespaces/default/pods/a");
  EXPECT_EQ(request().headers.get("accept"), "application/json");
  EXPECT_EQ(request().headers.get("user-agent"), "tidemark");
  EXPECT_FALSE(request().headers.has("authorization"));
  token = "one";
  get().value();
  token = "two";
  get().value();
  EXPECT_EQ(request(1).headers.get("authorization"), "Bearer one");
  EXPECT_EQ(request(2).headers.get("authorization"), "Bearer two");
}

TEST_F(ClientTest, DoesNotSendATokenWithALineBreak) {
  token = "x\r\nimpersonate-user: admin";
  auto got = get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(got.error().message.find("admin"), std::string::npos);
  EXPECT_TRUE(transport.sent.empty());
}

TEST_F(ClientTest, PatchesSendContentTypeFieldManagerAndDryRun) {
  transport.answers = {{}};
  WriteOptions options;
  options.subresource = "status";
  run(client->patch(kNodes, "n1", PatchType::kMerge, "{\"status\":{}}", options, 5s)).value();
  options.dry_run = true;
  options.field_manager = "tidemark manager";
  run(client->patch(kNodes, "n1", PatchType::kStrategicMerge, "{}", options, 5s)).value();
  run(client->patch(kNodes, "n1", PatchType::kJson, "[]", options, 5s)).value();
  EXPECT_EQ(request(0).headers.get("accept"), "application/json");
  options.answer_is_read = false;
  run(client->patch(kNodes, "n1", PatchType::kJson, "[]", options, 5s)).value();
  EXPECT_EQ(request(3).headers.get("accept"),
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json");
  EXPECT_EQ(request(0).method, "PATCH");
  EXPECT_EQ(request(0).target, "/api/v1/nodes/n1/status?fieldManager=tidemark");
  EXPECT_EQ(request(0).body, "{\"status\":{}}");
  EXPECT_EQ(request(0).headers.get("content-type"), "application/merge-patch+json");
  EXPECT_EQ(request(1).target, "/api/v1/nodes/n1/status?fieldManager=tidemark%20manager&dryRun=All");
  EXPECT_EQ(request(1).headers.get("content-type"), "application/strategic-merge-patch+json");
  EXPECT_EQ(request(2).headers.get("content-type"), "application/json-patch+json");
}

TEST_F(ClientTest, CreateAndRemove) {
  transport.answers = {{.status = 201}, {}};
  WriteOptions options;
  options.ns = "web";
  run(client->create(kPods, "{\"kind\":\"Pod\"}", options, "", 5s)).value();
  EXPECT_EQ(request(0).method, "POST");
  EXPECT_EQ(request(0).target, "/api/v1/namespaces/web/pods?fieldManager=tidemark");
  EXPECT_EQ(request(0).headers.get("content-type"), "application/json");
  ASSERT_TRUE(run(client->remove(kPods, "a", "", options, 5s)));
  EXPECT_EQ(request(1).method, "DELETE");
  EXPECT_EQ(request(1).target, "/api/v1/namespaces/web/pods/a");
  EXPECT_EQ(request(1).body, "");
  ASSERT_TRUE(run(client->remove(kPods, "a", "uid-1", options, 5s)));
  EXPECT_EQ(request(2).body, R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-1"}})");
  options.dry_run = true;
  transport.answers = {{}};
  ASSERT_TRUE(run(client->remove(kPods, "a", "uid-1", options, 5s)));
  EXPECT_EQ(request(3).body,
            R"({"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"],"preconditions":{"uid":"uid-1"}})");
  options.dry_run = false;
  options.grace_period_s = 0;
  options.propagation = "Background";
  transport.answers = {{}};
  ASSERT_TRUE(run(client->remove(kPods, "a", "", options, 5s)));
  EXPECT_EQ(request(4).body,
            R"({"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"propagationPolicy":"Background"})");
}

TEST_F(ClientTest, OptionsMayDieBeforeTheCall) {
  transport.answers = {{}};
  net::Task<Result<std::string>> task;
  {
    std::string ns = "a-namespace-too-long-for-the-small-string";
    std::string name = "a-name-too-long-for-the-small-string-buffer";
    const Resource resource = kPods;
    task = client->get(resource, ns, name, 5s);
    ns.assign(ns.size(), '#');
    name.assign(name.size(), '#');
  }
  run(std::move(task)).value();
  EXPECT_EQ(
      request().target,
      "/api/v1/namespaces/a-namespace-too-long-for-the-small-string/pods/a-name-too-long-for-the-small-string-buffer");
}

TEST_F(ClientTest, EvictAndBind) {
  transport.answers = {{.status = 201}};
  ASSERT_TRUE(run(evict_pod(*client, "web", "a", {.grace_period_s = 30, .uid = "u1"}, 5s)));
  EXPECT_EQ(request(0).target, "/api/v1/namespaces/web/pods/a/eviction?fieldManager=tidemark");
  EXPECT_EQ(request(0).body, R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a","namespace":"web"},)"
                             R"("deleteOptions":{"gracePeriodSeconds":30,"preconditions":{"uid":"u1"}}})");
  ASSERT_TRUE(run(bind_pod(*client, "web", "a", "u1", "n1", 5s)));
  EXPECT_EQ(request(1).target, "/api/v1/namespaces/web/pods/a/binding?fieldManager=tidemark");
  EXPECT_EQ(request(1).body,
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a","namespace":"web","uid":"u1"},)"
            R"("target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
}

}  // namespace
}  // namespace tidemark::kube
