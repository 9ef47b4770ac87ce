#include "kube/memory/server_metrics.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "kube/memory/testing/server_fixture.h"

namespace tidemark::kube::memory {
namespace {

using base::cat;

constexpr const char* kServerMetricsMaps = "/api/v1/namespaces/default/configmaps";

class ServerMetricsTest : public testing::ServerFixture {
 protected:
  void SetUp() override {
    ServerConfig config;
    config.metrics = &metrics_;
    config.store.watch_queue_max = 4;
    start(std::move(config));
  }
  void TearDown() override {
    transport_.reset();
    server_.reset();
  }
  // The number behind a series, or −1 where it is not there.
  double value(std::string_view series) const {
    const std::string text = metrics_.text();
    const std::size_t at = text.find(cat("\n", series, " "));
    return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 2));
  }
  double requests(std::string_view verb, std::string_view outcome) const {
    return value(cat("tidemark_apiserver_requests_total{component=\"", verb, "\",reason=\"", outcome, "\"}"));
  }

  base::Registry metrics_;
};

TEST_F(ServerMetricsTest, CountsRequestsByVerbAndResult) {
  loop_.run_ready();  // the namespaces that are always there
  const double objects = value("tidemark_apiserver_objects");
  EXPECT_EQ(post(kServerMetricsMaps, R"({"metadata":{"name":"m"}})").status, 201);
  EXPECT_EQ(post(kServerMetricsMaps, R"({"metadata":{"name":"m"}})").status, 409);
  EXPECT_EQ(get(cat(kServerMetricsMaps, "/none")).status, 404);
  EXPECT_EQ(get(kServerMetricsMaps).status, 200);
  EXPECT_EQ(call("PUT", kServerMetricsMaps, "{}").status, 405);
  EXPECT_EQ(requests("post", "ok"), 1);
  EXPECT_EQ(requests("post", "conflict"), 1);
  EXPECT_EQ(requests("get", "not_found"), 1);
  EXPECT_EQ(requests("get", "ok"), 1);
  EXPECT_EQ(requests("put", "refused"), 1);
  EXPECT_EQ(value("tidemark_apiserver_request_seconds_count{component=\"post\"}"), 2);
  EXPECT_EQ(value("tidemark_apiserver_objects"), objects + 1);
  EXPECT_GT(value("tidemark_apiserver_object_bytes"), 0);
  EXPECT_GT(value("tidemark_apiserver_history_bytes"), 0);
}

TEST_F(ServerMetricsTest, CountsOpenWatchesAndSlowReaders) {
  auto stream = watch(cat(kServerMetricsMaps, "?watch=true"));
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(value("tidemark_apiserver_watches"), 1);
  EXPECT_EQ(requests("watch", "ok"), 1);
  const std::string filler(64 * 1024, 'x');  // more than is queued for a client that does not read
  for (int i = 0; i < 12; ++i)
    ASSERT_EQ(
        post(kServerMetricsMaps, cat(R"({"metadata":{"name":"m)", i, R"("},"data":{"a":")", filler, R"("}})")).status,
        201);
  EXPECT_EQ(value("tidemark_apiserver_watches_closed_total"), 1);
  stream.reset();
  loop_.run_ready();
  EXPECT_EQ(get(kServerMetricsMaps).status, 200);
  EXPECT_EQ(value("tidemark_apiserver_watches"), 0);
}

}  // namespace
}  // namespace tidemark::kube::memory
