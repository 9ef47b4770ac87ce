// Lists that are large, many, read slowly or not at all, and what others notice of them.
#include "kube/memory/lists.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/text.h"
#include "base/yaml.h"
#include "kube/memory/testing/server_fixture.h"
#include "net/testing/loop.h"

namespace tidemark::kube::memory {
namespace {

using base::cat;
using std::chrono::seconds;

constexpr const char* kListsMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";

class ListsTest : public testing::ServerFixture {
 protected:
  void make(int from, int to, std::size_t bytes = 1) {
    for (int i = from; i < to; ++i) {
      const std::string name = cat("m", std::string(i < 10 ? 3 : i < 100 ? 2 : i < 1000 ? 1 : 0, '0'), i);
      ASSERT_EQ(post(kListsMaps,
                     cat(R"({"metadata":{"name":")", name, R"("},"data":{"k":")", std::string(bytes, 'x'), R"("}})"))
                    .status,
                201);
    }
  }
  // Runs beside what else is asked; notes when it was answered, as a number in `order`.
  struct Asked {
    int status = 0;
    int place = 0;
    Json body;
    net::Headers headers;
    std::string error;
  };
  net::Task<void> ask(std::string method, std::string target, Asked& asked, std::string accept = "",
                      std::string body = "") {
    net::HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    if (!accept.empty()) request.headers.set("accept", accept);
    auto answer = co_await transport_->fetch(std::move(request), std::chrono::hours(1));
    asked.place = ++answered_;
    if (!answer) {
      asked.error = answer.error().message;
      co_return;
    }
    asked.status = answer->status;
    asked.headers = answer->headers;
    if (auto parsed = Json::parse(answer->body)) asked.body = std::move(*parsed);
  }
  net::Task<void> delete_then_get(std::string deleted, std::string target, Asked& asked) {
    Asked gone;
    co_await ask("DELETE", std::move(deleted), gone);
    EXPECT_EQ(gone.status, 200);
    co_await ask("GET", std::move(target), asked);
  }
  std::unique_ptr<net::HttpStream> open(std::string target) {
    net::HttpRequest request;
    request.target = std::move(target);
    auto stream = wait(transport_->open(std::move(request), seconds(10)));
    EXPECT_TRUE(stream);
    return stream ? std::move(*stream) : nullptr;
  }
  // All of a stream, or the error it ends with.
  Result<std::string> rest(net::HttpStream& stream, base::Duration pause = base::Duration(0)) {
    std::string text;
    for (;;) {
      auto piece = wait(stream.read(seconds(10)));
      if (!piece) return std::unexpected(piece.error());
      if (!*piece) return text;
      text += **piece;
      net::testing::run_for(loop_, clock_, pause);
    }
  }
  static std::size_t items(const Json& list) { return list.at("items")->as_array().size(); }

  int answered_ = 0;
};

ServerConfig small_budget() {
  ServerConfig config;
  config.lists_bytes_max = 500'000;
  config.lists_wait = seconds(5);
  return config;
}

TEST_F(ListsTest, UnreadListsUseUpTheBudget) {
  start(small_budget());
  make(0, 10, 100'000);
  const auto unread = open(kListsMaps);
  Asked refused;
  net::Scope scope(loop_);
  scope.spawn(ask("GET", kListsMaps, refused));
  loop_.run_ready();
  EXPECT_EQ(refused.status, 0) << "it waits first";
  EXPECT_EQ(get(cat(kListsMaps, "/m0000")).status, 200) << "one object is no list";
  net::testing::run_for(loop_, clock_, seconds(5));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.body.text_at("reason"), "TooManyRequests");
  EXPECT_EQ(refused.headers.get("retry-after"), "1");
  EXPECT_EQ(refused.body.at("details", "retryAfterSeconds")->as_int(), 1);

  // The waiting list starts after the first is read, and contains the state of that time.
  Asked waits;
  scope.spawn(ask("GET", kListsMaps, waits));
  loop_.run_ready();
  ASSERT_EQ(call("DELETE", cat(kListsMaps, "/m0003")).status, 200);
  const auto text = rest(*unread);
  ASSERT_TRUE(text);
  EXPECT_EQ(items(*Json::parse(*text)), 10u) << "the moment it was asked at";
  loop_.run_ready();
  EXPECT_EQ(waits.status, 200);
  EXPECT_EQ(items(waits.body), 9u);
}

TEST_F(ListsTest, DisconnectedReaderFreesItsShare) {
  start(small_budget());
  make(0, 10, 100'000);
  auto unread = open(kListsMaps);
  unread.reset();
  EXPECT_EQ(get(kListsMaps).status, 200);
}

TEST_F(ListsTest, InitialStateOfAWatchUsesTheBudget) {
  start(small_budget());
  make(0, 10, 100'000);
  const auto unread = open(cat(kListsMaps, "?watch=1"));
  EXPECT_EQ(get(kListsMaps).status, 429);
  EXPECT_EQ(get(cat(kListsMaps, "?watch=1")).status, 429);
  std::string buffer;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(next_line(*unread, buffer).text_at("type"), "ADDED");
  loop_.run_ready();
  EXPECT_EQ(get(kListsMaps).status, 200) << "changes that follow are the watch's own";
}

TEST_F(ListsTest, ManySmallUnreadListsAreBounded) {
  ServerConfig config = small_budget();
  config.lists_bytes_max = 50'000;
  start(std::move(config));
  make(0, 10, 1'000);
  std::vector<std::unique_ptr<net::HttpStream>> unread;
  for (int i = 0; i < 4; ++i) unread.push_back(open(kListsMaps));
  EXPECT_EQ(get(kListsMaps).status, 429) << "whole answers wait for their readers too";
  unread.clear();
  EXPECT_EQ(get(kListsMaps).status, 200);
}

TEST_F(ListsTest, CutsOffAListThatIsReadTooSlowly) {
  make(0, 20, 100'000);
  const auto slow = open(kListsMaps);
  const auto text = rest(*slow, seconds(20));
  ASSERT_FALSE(text) << "2 MB at 64 KiB a second and 30 s: after a minute it is enough";
  EXPECT_NE(text.error().message.find("broken off"), std::string::npos) << text.error().message;
  const auto steady = open(kListsMaps);
  EXPECT_TRUE(rest(*steady, seconds(2)));
}

TEST_F(ListsTest, AnswersOthersWhileATableIsMade) {
  make(0, 1000);
  Asked table;
  Asked version;
  net::Scope scope(loop_);
  scope.spawn(ask("GET", kListsMaps, table, kTable));
  scope.spawn(ask("GET", "/version", version));
  Asked gone;
  scope.spawn(ask("DELETE", cat(kListsMaps, "/m0999"), gone));
  loop_.run_ready();
  EXPECT_EQ(version.place, 1);
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(table.place, 3);
  const auto& rows = table.body.at("rows")->as_array();
  ASSERT_EQ(rows.size(), 1000u) << "the table shows one moment";
  EXPECT_EQ(rows[999].text_at("object", "metadata", "name"), "m0999");
}

TEST_F(ListsTest, AnswersOthersWhileACollectionIsDeleted) {
  make(0, 1000);
  Asked all;
  Asked version;
  net::Scope scope(loop_);
  scope.spawn(ask("DELETE", kListsMaps, all));
  scope.spawn(ask("GET", "/version", version));
  // While the first are being deleted, one of the last goes and comes again under its name: that one was not meant.
  Asked gone;
  Asked made;
  scope.spawn(ask("DELETE", cat(kListsMaps, "/m0999"), gone));
  scope.spawn(ask("POST", kListsMaps, made, "", R"({"metadata":{"name":"m0999"},"data":{"k":"another"}})"));
  loop_.run_ready();
  EXPECT_EQ(version.place, 1);
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(all.place, 4);
  EXPECT_EQ(all.status, 200);
  EXPECT_EQ(items(all.body), 1000u);
  const Reply left = get(kListsMaps);
  ASSERT_EQ(items(left.body), 1u);
  EXPECT_EQ(left.body.at("items")->as_array()[0].text_at("data", "k"), "another");
}

TEST_F(ListsTest, AnswersOthersWhileTheCollectorRuns) {
  const auto left = [&](std::string_view ns) { return items(get(cat("/api/v1/namespaces/", ns, "/secrets")).body); };
  ASSERT_EQ(post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})").status, 201);
  const Reply owner = post(kListsMaps, R"({"metadata":{"name":"o"}})");
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(post("/api/v1/namespaces/n/secrets", cat(R"({"metadata":{"name":"s)", i, R"("}})")).status, 201);
    ASSERT_EQ(post("/api/v1/namespaces/default/secrets",
                   cat(R"({"metadata":{"name":"s)", i,
                       R"(","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":")",
                       owner.body.text_at("metadata", "uid"), R"("}]}})"))
                  .status,
              201);
  }
  net::Scope scope(loop_);
  Asked during;
  scope.spawn(delete_then_get("/api/v1/namespaces/n", "/api/v1/namespaces/n/secrets", during));
  loop_.run_ready();
  EXPECT_GT(items(during.body), 100u) << "asked right behind the deletion";
  EXPECT_LT(items(during.body), 1000u);
  EXPECT_EQ(left("n"), 0u);
  EXPECT_EQ(get("/api/v1/namespaces/n").status, 404);

  Asked held;
  scope.spawn(delete_then_get(cat(kListsMaps, "/o?propagationPolicy=Orphan"), cat(kListsMaps, "/o"), held));
  loop_.run_ready();
  EXPECT_EQ(held.status, 200) << "it goes when all dependents were let go";
  EXPECT_EQ(get(cat(kListsMaps, "/o")).status, 404);
  EXPECT_EQ(left("default"), 1000u);
}

TEST_F(ListsTest, PiecesAndYamlEqualTheWholeAnswer) {
  make(0, 300, 1'000);
  for (const char* form : {"", ";as=Table;v=v1;g=meta.k8s.io", ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}) {
    for (const char* query : {"", "?limit=7", "?labelSelector=none"}) {
      const Reply json = call("GET", cat(kListsMaps, query), "", "", cat("application/json", form));
      ASSERT_EQ(json.status, 200) << json.text;
      const Json* list = json.body.at(json.body.at("rows") != nullptr ? "rows" : "items");
      ASSERT_NE(list, nullptr) << form << query << json.text.substr(0, 200);
      EXPECT_EQ(list->as_array().size(), *query == 0 ? 300u : std::string_view(query) == "?limit=7" ? 7u : 0u);
      const Reply yaml = call("GET", cat(kListsMaps, query), "", "", cat("application/yaml", form));
      EXPECT_EQ(yaml.headers.get("content-type"), "application/yaml");
      const auto read = base::parse_yaml(yaml.text);
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(*read, json.body) << form << query;
    }
  }
}

}  // namespace
}  // namespace tidemark::kube::memory
