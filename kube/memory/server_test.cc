#include "kube/memory/server.h"

#include "kube/memory/store.h"
#include "kube/memory/testing/server_fixture.h"

namespace tidemark::kube::memory {
namespace {

class ServerTest : public testing::ServerFixture {};

constexpr const char* kServerPods = "/api/v1/namespaces/default/pods";
constexpr const char* kServerMaps = "/api/v1/namespaces/default/configmaps";

std::string pod(std::string_view name, std::string_view more = "") {
  return base::cat(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")", name,
                   R"("},"spec":{"containers":[{"name":"c","image":"busybox:1"}])", more, "}}");
}
std::string config_map(std::string_view name, std::string_view value = "1") {
  return base::cat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")", name, R"(","labels":{"l":")", value,
                   R"("}},"data":{"k":")", value, R"("}})");
}

TEST_F(ServerTest, CreatesReadsAndDefaults) {
  const Reply made = post(kServerPods, pod("a"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.body.text_at("spec", "restartPolicy"), "Always");
  EXPECT_EQ(made.body.text_at("status", "phase"), "Pending");
  EXPECT_EQ(made.body.text_at("status", "qosClass"), "BestEffort");
  EXPECT_EQ(made.body.at("spec", "priority")->as_int(), 0);
  EXPECT_EQ(made.body.text_at("metadata", "creationTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(made.body.text_at("metadata", "uid").size(), 36u);
  const Reply read = get(std::string(kServerPods) + "/a");
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.body, made.body);
  const Reply again = post(kServerPods, pod("a"));
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.message(), "pods \"a\" already exists");
  EXPECT_EQ(get(std::string(kServerPods) + "/b").message(), "pods \"b\" not found");
  EXPECT_EQ(post("/api/v1/namespaces/none/pods", pod("a")).message(), "namespaces \"none\" not found");
}

TEST_F(ServerTest, RefusesBadObjectsWithTheFieldPath) {
  const Reply name = post(kServerPods, pod("A_b"));
  EXPECT_EQ(name.status, 422);
  EXPECT_TRUE(name.message().starts_with(
      "Pod \"A_b\" is invalid: metadata.name: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain"))
      << name.text;
  EXPECT_EQ(post(kServerPods, R"({"metadata":{"name":"x"},"spec":{"containers":[]}})").message(),
            "Pod \"x\" is invalid: spec.containers: Required value");
  const Reply type = post(kServerPods, R"({"metadata":{"name":"x"},"spec":{"containers":"y"}})");
  EXPECT_EQ(type.status, 400);
  EXPECT_EQ(type.message(),
            "Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field "
            "PodSpec.spec.containers of type []v1.Container");
  EXPECT_EQ(post(kServerPods, "{").status, 400);
  EXPECT_EQ(call("POST", kServerPods, "x", "application/cbor").status, 415);
  EXPECT_EQ(post(kServerPods, R"({"apiVersion":"v2","kind":"Pod"})").status, 400);
}

TEST_F(ServerTest, WarnsAboutObjectsThatHaveNoController) {
  constexpr const char* kQuotas = "/api/v1/namespaces/default/resourcequotas";
  const std::string told = "299 - \"this API server counts nothing against a resource quota\"";
  const Reply made = post(kQuotas, R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"1"}}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.headers.get("warning"), told);
  const std::string one = std::string(kQuotas) + "/q";
  EXPECT_EQ(
      call("PATCH", one, R"({"spec":{"hard":{"pods":"2"}}})", "application/merge-patch+json").headers.get("warning"),
      told);
  EXPECT_EQ(
      call("PATCH", one, R"({"metadata":{"labels":{"a":"b"}}})", "application/merge-patch+json").headers.get("warning"),
      "")
      << "a label changes nothing of what is not done";
  EXPECT_EQ(get(one).headers.get("warning"), "");
  EXPECT_EQ(post(kServerPods, pod("a")).headers.get("warning"), "");
  EXPECT_EQ(post(kServerMaps, R"({"metadata":{"name":"m","managedFields":[]}})").headers.get("warning"), "");
  EXPECT_EQ(post(kServerMaps, R"({"metadata":{"name":"n","managedFields":[{"manager":"x","operation":"Update"}]}})")
                .headers.get("warning"),
            "299 - \"metadata.managedFields: this API server keeps none\"");
}

TEST_F(ServerTest, FieldValidation) {
  const std::string body = R"({"metadata":{"name":"x"},"daata":{}})";
  const Reply strict = post(std::string(kServerMaps) + "?fieldValidation=Strict", body);
  EXPECT_EQ(strict.status, 400);
  EXPECT_EQ(
      strict.message(),
      "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"daata\"");
  const Reply warned = post(kServerMaps, body);
  EXPECT_EQ(warned.status, 201);
  EXPECT_EQ(warned.headers.get("warning"), "299 - \"unknown field \\\"daata\\\"\"");
  EXPECT_EQ(warned.body.at("daata"), nullptr);
}

TEST_F(ServerTest, UpdatesCheckRevisionAndGeneration) {
  const Reply made = post(kServerMaps, config_map("m"));
  const Reply merged = merge(std::string(kServerMaps) + "/m", R"({"data":{"x":"y"}})");
  EXPECT_EQ(merged.status, 200);
  EXPECT_EQ(merged.body.text_at("data", "x"), "y");
  const Reply stale = call("PUT", std::string(kServerMaps) + "/m", made.text);
  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(stale.message(),
            "Operation cannot be fulfilled on configmaps \"m\": the object has been modified; please apply your "
            "changes to the latest version and try again");
  const Reply same = merge(std::string(kServerMaps) + "/m", R"({"data":{"x":"y"}})");
  EXPECT_EQ(same.body.text_at("metadata", "resourceVersion"), merged.body.text_at("metadata", "resourceVersion"));
  const Reply conditional =
      merge(std::string(kServerMaps) + "/m", R"({"metadata":{"resourceVersion":"1"},"data":{"z":"y"}})");
  EXPECT_EQ(conditional.status, 409);
}

TEST_F(ServerTest, StatusIsASeparateSubresource) {
  post("/api/v1/nodes", R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"4000m","memory":"8Gi"}}})");
  const Reply patched =
      call("PATCH", "/api/v1/nodes/n/status",
           R"({"status":{"allocatable":{"kubernetes.io/batch-cpu":"7800"}},"spec":{"unschedulable":true}})",
           "application/strategic-merge-patch+json");
  EXPECT_EQ(patched.status, 200) << patched.text;
  EXPECT_EQ(patched.body.text_at("status", "capacity", "cpu"), "4");
  EXPECT_EQ(patched.body.text_at("status", "allocatable", "kubernetes.io/batch-cpu"), "7800");
  EXPECT_EQ(patched.body.at("spec", "unschedulable"), nullptr);
  const Reply main = merge("/api/v1/nodes/n", R"({"status":{"capacity":{"cpu":"9"}},"spec":{"unschedulable":true}})");
  EXPECT_EQ(main.body.text_at("status", "capacity", "cpu"), "4");
  EXPECT_TRUE(main.body.at("spec", "unschedulable")->as_bool());
  const Reply fraction = merge("/api/v1/nodes/n/status", R"({"status":{"capacity":{"example.com/gpu":"1500m"}}})");
  EXPECT_EQ(fraction.status, 422);
  EXPECT_EQ(fraction.message(),
            "Node \"n\" is invalid: status.capacity.example.com/gpu: Invalid value: \"1500m\": must be an integer")
      << fraction.text;
}

TEST_F(ServerTest, PodSpecIsImmutableExceptAFewFields) {
  post(kServerPods, pod("a"));
  const Reply refused = merge(std::string(kServerPods) + "/a", R"({"spec":{"hostname":"x"}})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_TRUE(refused.message().find("pod updates may not change fields other than") != std::string_view::npos)
      << refused.text;
  const Reply image =
      call("PATCH", std::string(kServerPods) + "/a", R"({"spec":{"containers":[{"name":"c","image":"busybox:2"}]}})",
           "application/strategic-merge-patch+json");
  EXPECT_EQ(image.status, 200) << image.text;
  EXPECT_EQ(image.body.at("metadata", "generation")->as_int(), 2);
}

TEST_F(ServerTest, PagesOfAListAreConsistent) {
  for (int i = 0; i < 5; ++i) post(kServerMaps, config_map(base::cat("m", i)));
  const Reply first = get(std::string(kServerMaps) + "?limit=2");
  ASSERT_EQ(first.body.at("items")->as_array().size(), 2u);
  const std::string token(first.body.text_at("metadata", "continue"));
  call("DELETE", std::string(kServerMaps) + "/m3");
  post(kServerMaps, config_map("m9"));
  merge(std::string(kServerMaps) + "/m2", R"({"data":{"k":"new"}})");
  const Reply second = get(base::cat(kServerMaps, "?limit=2&continue=", net::percent_encode(token)));
  ASSERT_EQ(second.body.at("items")->as_array().size(), 2u) << second.text;
  EXPECT_EQ(second.body.at("items")->as_array()[0].text_at("data", "k"), "1");
  EXPECT_EQ(second.body.at("items")->as_array()[1].text_at("metadata", "name"), "m3");
  EXPECT_EQ(second.body.text_at("metadata", "resourceVersion"), first.body.text_at("metadata", "resourceVersion"));
  const Reply third = get(
      base::cat(kServerMaps, "?limit=2&continue=", net::percent_encode(second.body.text_at("metadata", "continue"))));
  ASSERT_EQ(third.body.at("items")->as_array().size(), 1u);
  EXPECT_EQ(third.body.text_at("metadata", "continue"), "");
  EXPECT_EQ(get(std::string(kServerMaps) + "?continue=xx").status, 400);
}

TEST_F(ServerTest, ExpiredPageIs410) {
  ServerConfig config;
  config.store.history_bytes_max = 4000;
  start(config);
  for (int i = 0; i < 3; ++i) post(kServerMaps, config_map(base::cat("m", i)));
  const Reply first = get(std::string(kServerMaps) + "?limit=1");
  for (int i = 0; i < 50; ++i) merge(std::string(kServerMaps) + "/m0", base::cat(R"({"data":{"k":")", i, "\"}}"));
  const Reply second = get(
      base::cat(kServerMaps, "?limit=1&continue=", net::percent_encode(first.body.text_at("metadata", "continue"))));
  EXPECT_EQ(second.status, 410);
  const Reply goes_on =
      get(base::cat(kServerMaps, "?continue=", net::percent_encode(second.body.text_at("metadata", "continue"))));
  EXPECT_EQ(goes_on.body.at("items")->as_array().size(), 2u) << goes_on.text;
  std::string buffer;
  const auto stream =
      watch(base::cat(kServerMaps, "?watch=true&resourceVersion=", first.body.text_at("metadata", "resourceVersion")));
  const Json error = next_line(*stream, buffer);
  EXPECT_EQ(error.text_at("type"), "ERROR");
  EXPECT_EQ(error.at("object", "code")->as_int(), 410);
}

TEST_F(ServerTest, Selectors) {
  post(kServerMaps, config_map("a", "x"));
  post(kServerMaps, config_map("b", "y"));
  EXPECT_EQ(get(std::string(kServerMaps) + "?labelSelector=l%20in%20(x,z)").body.at("items")->as_array().size(), 1u);
  EXPECT_EQ(get(std::string(kServerMaps) + "?fieldSelector=metadata.name%3Db").body.at("items")->as_array().size(), 1u);
  EXPECT_EQ(get(std::string(kServerMaps) + "?fieldSelector=data.k%3Db").message(),
            "\"data.k\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
  post(kServerPods, pod("a", R"(,"nodeName":"n1")"));
  post(kServerPods, pod("b"));
  EXPECT_EQ(get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1").body.at("items")->as_array().size(), 1u);
  EXPECT_EQ(
      get("/api/v1/pods?fieldSelector=spec.nodeName%3D,status.phase%3DPending").body.at("items")->as_array().size(),
      1u);
}

TEST_F(ServerTest, WatchesFromARevisionThroughASelector) {
  const Reply made = post(kServerMaps, config_map("a", "x"));
  const auto stream = watch(base::cat(kServerMaps, "?watch=true&labelSelector=l%3Dx&resourceVersion=",
                                      made.body.text_at("metadata", "resourceVersion")));
  std::string buffer;
  merge(std::string(kServerMaps) + "/a", R"({"data":{"k":"2"}})");
  merge(std::string(kServerMaps) + "/a", R"({"metadata":{"labels":{"l":"y"}}})");
  merge(std::string(kServerMaps) + "/a", R"({"data":{"k":"3"}})");
  const Reply back = merge(std::string(kServerMaps) + "/a", R"({"metadata":{"labels":{"l":"x"}}})");
  call("DELETE", std::string(kServerMaps) + "/a");
  std::vector<std::string> types;
  std::vector<Json> lines;
  for (int i = 0; i < 4; ++i) lines.push_back(next_line(*stream, buffer));
  for (const Json& line : lines) types.emplace_back(line.text_at("type"));
  EXPECT_EQ(types, (std::vector<std::string>{"MODIFIED", "DELETED", "ADDED", "DELETED"}));
  EXPECT_EQ(lines[1].text_at("object", "metadata", "labels", "l"), "x");
  EXPECT_EQ(lines[2].text_at("object", "metadata", "resourceVersion"),
            back.body.text_at("metadata", "resourceVersion"));
  EXPECT_TRUE(next_line(*stream, buffer).is_null());
}

TEST_F(ServerTest, WatchStartsWithTheStateAndSendsBookmarksAndEnds) {
  post(kServerMaps, config_map("a"));
  const auto stream = watch(base::cat(kServerMaps, "?watch=true&allowWatchBookmarks=true&timeoutSeconds=90"));
  std::string buffer;
  EXPECT_EQ(next_line(*stream, buffer).text_at("type"), "ADDED");
  const Reply other = post("/api/v1/namespaces/default/secrets", R"({"metadata":{"name":"s"}})");
  clock_.advance(std::chrono::seconds(61));
  const Json bookmark = next_line(*stream, buffer);
  EXPECT_EQ(bookmark.text_at("type"), "BOOKMARK");
  EXPECT_EQ(bookmark.text_at("object", "metadata", "resourceVersion"),
            other.body.text_at("metadata", "resourceVersion"));
  clock_.advance(std::chrono::seconds(30));
  EXPECT_EQ(next_line(*stream, buffer).text_at("type"), "BOOKMARK");
  const auto end = wait(stream->read(std::chrono::seconds(1)));
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->has_value());
  const auto listed = watch(base::cat(
      kServerMaps, "?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"));
  std::string more;
  EXPECT_EQ(next_line(*listed, more).text_at("type"), "ADDED");
  EXPECT_EQ(next_line(*listed, more).text_at("object", "metadata", "annotations", "k8s.io/initial-events-end"), "true");
}

TEST_F(ServerTest, ClosesASlowWatcherWith410) {
  ServerConfig config;
  config.store.watch_queue_max = 20;
  start(config);
  const auto slow = watch(base::cat(kServerMaps, "?watch=true"));
  post(kServerMaps, config_map("a"));
  const std::string big(20'000, 'x');
  std::string fast_buffer;
  const auto fast = watch(base::cat(kServerMaps, "?watch=true&resourceVersion=", server_->store().revision()));
  for (int i = 0; i < 40; ++i) {
    merge(std::string(kServerMaps) + "/a", base::cat(R"({"data":{"k":")", i, big, "\"}}"));
    EXPECT_EQ(next_line(*fast, fast_buffer).text_at("type"), "MODIFIED");
  }
  std::string buffer;
  Json last;
  for (int i = 0; i < 60; ++i) {
    Json line = next_line(*slow, buffer);
    if (line.is_null()) break;
    last = std::move(line);
  }
  EXPECT_EQ(last.text_at("type"), "ERROR");
  EXPECT_EQ(last.at("object", "code")->as_int(), 410);
}

TEST_F(ServerTest, DeletesGracefullyAndWithFinalizers) {
  post(kServerPods, pod("free"));
  EXPECT_EQ(call("DELETE", std::string(kServerPods) + "/free").status, 200);
  EXPECT_EQ(get(std::string(kServerPods) + "/free").status, 404);
  post(kServerPods, pod("bound", R"(,"nodeName":"n")"));
  const Reply going = call("DELETE", std::string(kServerPods) + "/bound");
  EXPECT_EQ(going.body.text_at("metadata", "deletionTimestamp"), "2026-01-01T00:00:30Z");
  EXPECT_EQ(call("DELETE", std::string(kServerPods) + "/bound", R"({"gracePeriodSeconds":0})").status, 200);
  EXPECT_EQ(get(std::string(kServerPods) + "/bound").status, 404);
  post(kServerMaps, R"({"metadata":{"name":"f","finalizers":["x.io/a"]}})");
  call("DELETE", std::string(kServerMaps) + "/f");
  EXPECT_NE(get(std::string(kServerMaps) + "/f").body.at("metadata", "deletionTimestamp"), nullptr);
  EXPECT_EQ(merge(std::string(kServerMaps) + "/f", R"({"metadata":{"finalizers":["x.io/a","x.io/b"]}})").status, 422);
  merge(std::string(kServerMaps) + "/f", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(get(std::string(kServerMaps) + "/f").status, 404);
  post(kServerMaps, config_map("p"));
  EXPECT_EQ(call("DELETE", std::string(kServerMaps) + "/p", R"({"preconditions":{"uid":"other"}})").status, 409);
  EXPECT_EQ(call("DELETE", std::string(kServerMaps) + "/p?dryRun=All").status, 200);
  EXPECT_EQ(get(std::string(kServerMaps) + "/p").status, 200);
  EXPECT_EQ(call("DELETE", std::string(kServerMaps) + "?labelSelector=l%3D1").status, 200);
  EXPECT_EQ(get(std::string(kServerMaps) + "/p").status, 404);
}

TEST_F(ServerTest, DeletesDependentsOfADeletedOwner) {
  const auto with_owner = [&](const char* name, const Reply& owner, bool blocks) {
    return base::cat(R"({"metadata":{"name":")", name,
                     R"(","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":")",
                     owner.body.text_at("metadata", "uid"), R"(","blockOwnerDeletion":)", blocks ? "true" : "false",
                     "}]}}");
  };
  for (const char* policy : {"Background", "Foreground", "Orphan"}) {
    const Reply owner = post(kServerMaps, config_map("o"));
    post(kServerMaps, with_owner("d", owner, true));
    call("DELETE", base::cat(kServerMaps, "/o?propagationPolicy=", policy));
    loop_.run_ready();
    EXPECT_EQ(get(std::string(kServerMaps) + "/o").status, 404) << policy;
    const Reply left = get(std::string(kServerMaps) + "/d");
    if (std::string_view(policy) == "Orphan")
      EXPECT_EQ(left.body.at("metadata", "ownerReferences"), nullptr);
    else
      EXPECT_EQ(left.status, 404) << policy;
    call("DELETE", std::string(kServerMaps) + "/d");
  }
}

TEST_F(ServerTest, DeletingANamespaceDeletesItsObjects) {
  post("/api/v1/namespaces", R"({"metadata":{"name":"team"}})");
  post("/api/v1/namespaces/team/configmaps", R"({"metadata":{"name":"m","finalizers":["x.io/a"]}})");
  post("/api/v1/namespaces/team/secrets", R"({"metadata":{"name":"s"}})");
  EXPECT_EQ(call("DELETE", "/api/v1/namespaces/team").body.text_at("status", "phase"), "Terminating");
  loop_.run_ready();
  EXPECT_EQ(get("/api/v1/namespaces/team/secrets/s").status, 404);
  EXPECT_EQ(get("/api/v1/namespaces/team").status, 200);
  EXPECT_EQ(post("/api/v1/namespaces/team/secrets", R"({"metadata":{"name":"t"}})").status, 403);
  merge("/api/v1/namespaces/team/configmaps/m", R"({"metadata":{"finalizers":null}})");
  loop_.run_ready();
  EXPECT_EQ(get("/api/v1/namespaces/team").status, 404);
  EXPECT_EQ(call("DELETE", "/api/v1/namespaces/default").status, 403);
}

TEST_F(ServerTest, BindsAndEvicts) {
  post(kServerPods, pod("a", R"(,"priorityClassName":"system-node-critical")"));
  const std::string binding =
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"kind":"Node","name":"n1"}})";
  EXPECT_EQ(post(std::string(kServerPods) + "/a/binding", binding).status, 201);
  EXPECT_EQ(post(std::string(kServerPods) + "/a/binding", binding).message(),
            "Operation cannot be fulfilled on pods/binding \"a\": pod a is already assigned to node \"n1\"");
  EXPECT_EQ(get(std::string(kServerPods) + "/a").body.text_at("spec", "nodeName"), "n1");
  merge(std::string(kServerPods) + "/a/status",
        R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})");
  merge(std::string(kServerPods) + "/a", R"({"metadata":{"labels":{"app":"x"}}})");
  post("/apis/policy/v1/namespaces/default/poddisruptionbudgets",
       R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"x"}}}})");
  const std::string eviction =
      R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a","namespace":"default"}})";
  const Reply refused = post(std::string(kServerPods) + "/a/eviction", eviction);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.message(), "Cannot evict pod as it would violate the pod's disruption budget.");
  EXPECT_EQ(refused.headers.get("retry-after"), "10");
  EXPECT_EQ(refused.body.at("details", "causes")->as_array()[0].text_at("reason"), "DisruptionBudget");
  merge("/apis/policy/v1/namespaces/default/poddisruptionbudgets/b", R"({"spec":{"minAvailable":0}})");
  EXPECT_EQ(post(std::string(kServerPods) + "/a/eviction", eviction).status, 201);
  EXPECT_NE(get(std::string(kServerPods) + "/a").body.at("metadata", "deletionTimestamp"), nullptr);
  EXPECT_EQ(post(kServerPods, pod("p", R"(,"priorityClassName":"none")")).status, 403);
}

constexpr const char* kServerCrd =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gangs.x.io"},
  "spec":{"group":"x.io","scope":"Namespaced","names":{"plural":"gangs","kind":"Gang","shortNames":["gg"]},"versions":[{"name":"v1","served":true,"storage":true,
  "subresources":{"status":{}},"additionalPrinterColumns":[{"name":"Min","type":"integer","jsonPath":".spec.minMember"}],
  "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"minMember":{"type":"integer"},"mode":{"type":"string","default":"strict"}}},
  "status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}})";

TEST_F(ServerTest, DefinitionCreatesAKindAtOnce) {
  const Reply crd = post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kServerCrd);
  ASSERT_EQ(crd.status, 201) << crd.text;
  EXPECT_EQ(crd.body.at("status", "conditions")->as_array()[1].text_at("type"), "Established");
  const std::string gangs = "/apis/x.io/v1/namespaces/default/gangs";
  const Reply wrong =
      post(gangs, R"({"apiVersion":"x.io/v1","kind":"Gang","metadata":{"name":"g"},"spec":{"minMember":"x"}})");
  EXPECT_EQ(wrong.status, 422);
  EXPECT_EQ(wrong.message(),
            "Gang.x.io \"g\" is invalid: spec.minMember: Invalid value: \"string\": spec.minMember in body must be of "
            "type integer: \"string\"");
  const Reply made = post(
      gangs,
      R"({"apiVersion":"x.io/v1","kind":"Gang","metadata":{"name":"g"},"spec":{"minMember":2,"junk":1},"status":{"a":1}})");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.body.at("spec")->dump(), R"({"minMember":2,"mode":"strict"})");
  EXPECT_EQ(made.body.at("status"), nullptr);
  const Reply status = merge(gangs + "/g/status", R"({"status":{"phase":"ok"},"spec":{"minMember":9}})");
  EXPECT_EQ(status.body.text_at("status", "phase"), "ok");
  EXPECT_EQ(status.body.at("metadata", "generation")->as_int(), 1);
  EXPECT_EQ(merge(gangs + "/g", R"({"spec":{"minMember":3}})").body.at("metadata", "generation")->as_int(), 2);
  EXPECT_EQ(call("PATCH", gangs + "/g", "{}", "application/strategic-merge-patch+json").status, 415);
  const Reply table = call("GET", gangs, "", "", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
  EXPECT_EQ(table.body.at("rows")->as_array()[0].at("cells")->dump(), R"(["g",3])");
  call("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gangs.x.io");
  loop_.run_ready();
  EXPECT_EQ(get(gangs).status, 404);
  EXPECT_EQ(get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gangs.x.io").status, 404);
}

TEST_F(ServerTest, RefusesADefinitionWithCelRules) {
  Json crd = *Json::parse(kServerCrd);
  crd["spec"]["versions"].as_array()[0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] =
      Json::array({Json::object({{"rule", "true"}})});
  const Reply refused = post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd.dump());
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(refused.message().find("x-kubernetes-validations"), std::string_view::npos) << refused.text;
}

// batch/v1, JobSpec: "When both fields are left unset, both are defaulted to 1", and completions nil means that the
// success of any pod signals the success of all.
TEST_F(ServerTest, JobsWithOnlyParallelismGetNoCompletions) {
  constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";
  const auto job = [](std::string_view name, std::string_view spec, std::string_view restarts = "Never") {
    return base::cat(R"({"metadata":{"name":")", name, R"("},"spec":{)", spec,
                     R"("template":{"spec":{"restartPolicy":")", restarts,
                     R"(","containers":[{"name":"c","image":"i"}]}}}})");
  };
  const Json one = post(kJobs, job("one", "")).body;
  EXPECT_EQ(one.at("spec", "completions")->get_int(), 1);
  EXPECT_EQ(one.at("spec", "parallelism")->get_int(), 1);
  EXPECT_EQ(one.text_at("spec", "podReplacementPolicy"), "TerminatingOrFailed");
  const Json many = post(kJobs, job("many", R"("parallelism":3,)")).body;
  EXPECT_EQ(many.at("spec", "completions"), nullptr);
  EXPECT_EQ(many.at("spec", "parallelism")->get_int(), 3);
  const std::string rules =
      R"("podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[{"type":"D","status":"True"}]}]},)";
  EXPECT_EQ(post(kJobs, job("rules", rules)).body.text_at("spec", "podReplacementPolicy"), "Failed");
  const Reply restarts = post(kJobs, job("restarts", rules, "OnFailure"));
  EXPECT_EQ(restarts.status, 422);
  EXPECT_NE(restarts.message().find("spec.template.spec.restartPolicy"), std::string_view::npos) << restarts.message();
  const Reply indexed = post(kJobs, job("indexed", R"("parallelism":3,"completionMode":"Indexed",)"));
  EXPECT_EQ(indexed.status, 422);
  EXPECT_NE(indexed.message().find("spec.completions: Required value"), std::string_view::npos) << indexed.message();
  EXPECT_EQ(merge(base::cat(kJobs, "/many"), R"({"spec":{"completionMode":"Indexed","completions":3}})").status, 422);
  const Reply table = call("GET", kJobs, "", "", "application/json;as=Table;v=v1;g=meta.k8s.io");
  std::vector<std::string> shown;
  for (const Json& row : table.body.at("rows")->as_array())
    shown.emplace_back(row.at("cells")->as_array()[2].get_string().value_or(""));
  EXPECT_EQ(shown, (std::vector<std::string>{"0/1 of 3", "0/1", "0/1"}));
}

TEST_F(ServerTest, DoesNotWarnAboutHandledObjects) {
  constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";
  const std::string job =
      R"({"metadata":{"generateName":"j-"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})";
  EXPECT_NE(post(kJobs, job).headers.get("warning"), "");
  ServerConfig config;
  config.acted_on = {"jobs.batch"};
  start(std::move(config));
  const Reply made = post(kJobs, job);
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.headers.get("warning"), "");
}

TEST_F(ServerTest, ConfiguredPriorityClassesExistFromTheStart) {
  ServerConfig config;
  config.priority_classes = {{"koord-batch", 5000}};
  start(std::move(config));
  constexpr const char* kClass = "/apis/scheduling.k8s.io/v1/priorityclasses/koord-batch";
  const Json found = get(kClass).body;
  EXPECT_EQ(found.at("value")->get_int(), 5000) << found.dump();
  EXPECT_EQ(post(kServerPods, pod("a", R"(,"priorityClassName":"koord-batch")")).status, 201);
}

TEST_F(ServerTest, Tables) {
  post(kServerPods, pod("a"));
  const Reply table = call("GET", kServerPods, "", "",
                           "application/json;as=Table;v=v1;g=meta.k8s.io,application/"
                           "json;as=Table;v=v1beta1;g=meta.k8s.io,application/json");
  EXPECT_EQ(table.body.text_at("kind"), "Table");
  EXPECT_EQ(table.body.at("rows")->as_array()[0].at("cells")->dump(),
            R"(["a","0/1","Pending","0","0s","<none>","<none>","<none>","<none>"])");
  EXPECT_EQ(table.body.at("rows")->as_array()[0].text_at("object", "kind"), "PartialObjectMetadata");
  EXPECT_EQ(call("GET", kServerPods, "", "", "application/vnd.kubernetes.protobuf").status, 406);
}

TEST_F(ServerTest, EventsOfBothGroupsShareOneStore) {
  const Reply made = post(
      "/apis/events.k8s.io/v1/namespaces/default/events",
      R"({"metadata":{"name":"e"},"regarding":{"kind":"Pod","name":"p","namespace":"default"},"note":"hello","reason":"R","type":"Normal","reportingController":"me","reportingInstance":"me-1","action":"Saying","eventTime":"2026-01-01T00:00:00.000000Z"})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.body.text_at("note"), "hello");
  const Reply core = get("/api/v1/namespaces/default/events/e");
  EXPECT_EQ(core.body.text_at("message"), "hello");
  EXPECT_EQ(core.body.text_at("apiVersion"), "v1");
  EXPECT_EQ(core.body.text_at("involvedObject", "name"), "p");
  EXPECT_EQ(get("/api/v1/events?fieldSelector=involvedObject.name%3Dp").body.at("items")->as_array().size(), 1u);
}

TEST_F(ServerTest, ReportsUnsupportedFeatures) {
  post(kServerMaps, config_map("a"));
  EXPECT_EQ(call("PATCH", std::string(kServerMaps) + "/a", "{}", "application/apply-patch+yaml").status, 415);
  EXPECT_EQ(get("/apis/apps/v1/namespaces/default/deployments/x/scale").status, 422);
  EXPECT_EQ(get(std::string(kServerPods) + "/a/log").status, 422);
  EXPECT_EQ(call("PUT", kServerPods, "{}").status, 405);
  EXPECT_EQ(call("POST", std::string(kServerPods) + "/a", "{}").status, 405);
  EXPECT_EQ(get(std::string(kServerMaps) + "?frob=1").message(), "unknown query parameter \"frob\"");
  EXPECT_EQ(get("/apis/none.io/v1/things").status, 404);
  EXPECT_EQ(get("/nowhere").status, 404);
  EXPECT_EQ(get(std::string(kServerMaps) + "?resourceVersion=9999999999999999").status, 504);
  EXPECT_EQ(call("POST", kServerMaps, std::string(4 * 1024 * 1024, ' ')).status, 413);
}

TEST_F(ServerTest, IdentifiesTheUser) {
  ServerConfig config;
  config.tokens = {{"secret", "me"}};
  start(config);
  LocalTransport stranger(loop_, server_->handler(), "");
  const auto as = [&](const char* header, const char* target) {
    net::HttpRequest request;
    request.target = target;
    if (*header != 0) request.headers.set("authorization", header);
    return wait(stranger.fetch(request, std::chrono::seconds(1)))->status;
  };
  EXPECT_EQ(as("", "/api/v1/nodes"), 403);
  EXPECT_EQ(as("Bearer wrong", "/api/v1/nodes"), 401);
  EXPECT_EQ(as("Bearer secret", "/api/v1/nodes"), 200);
  EXPECT_EQ(as("", "/readyz"), 200);
  EXPECT_EQ(as("", "/version"), 200);
}

TEST_F(ServerTest, Discovery) {
  EXPECT_EQ(get("/api").body.text_at("kind"), "APIVersions");
  EXPECT_EQ(get("/apis").body.text_at("kind"), "APIGroupList");
  EXPECT_EQ(get("/apis/apps").body.text_at("preferredVersion", "groupVersion"), "apps/v1");
  EXPECT_EQ(get("/api/v1").body.text_at("kind"), "APIResourceList");
  const Reply all = call("GET", "/apis", "", "",
                         "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/"
                         "json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json");
  EXPECT_EQ(all.body.text_at("kind"), "APIGroupDiscoveryList");
  EXPECT_EQ(all.headers.get("content-type"), "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  EXPECT_EQ(get("/openapi/v3/apis/apps/v1?hash=1").body.text_at("openapi"), "3.0.0");
}

}  // namespace
}  // namespace tidemark::kube::memory
