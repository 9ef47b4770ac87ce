// The client: watches.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/testing/scripted_transport.h"
#include "kube/testing/testdata.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;
using testing::ClientTest;
using testing::kExpired;
using testing::testdata;

class WatchTest : public ClientTest {
 protected:
  Result<std::unique_ptr<WatchStream>> open(WatchOptions options = {}) {
    return run(client->watch(kConfigMaps, std::move(options)));
  }
};

TEST_F(WatchTest, DeliversEventsThenEnds) {
  const std::string body = testdata("watch_config_maps.txt");
  transport.answers = {{.pieces = {body.substr(0, 100), body.substr(100, 700), body.substr(800)}}};
  WatchOptions options;
  options.ns = "default";
  options.label_selector = "a=b";
  options.resource_version = "235";
  auto stream = open(options).value();
  const std::string& target = request().target;
  EXPECT_TRUE(
      target.starts_with("/api/v1/namespaces/default/configmaps?watch=true&allowWatchBookmarks=true&"
                         "labelSelector=a%3Db&resourceVersion=235&timeoutSeconds="))
      << target;
  const auto timeout = base::parse_int(target.substr(target.rfind('=') + 1));
  ASSERT_TRUE(timeout);
  EXPECT_LE(*timeout, 480);
  EXPECT_GE(*timeout, 384) << "spread, so that watches do not end together";
  std::vector<EventType> types;
  while (true) {
    auto event = run(stream->next()).value();
    if (!event) break;
    types.push_back(event->type);
  }
  EXPECT_EQ(types, (std::vector<EventType>{EventType::kAdded, EventType::kModified, EventType::kDeleted,
                                           EventType::kBookmark}));
  EXPECT_EQ(run(stream->next()).value(), std::nullopt) << "the end stays the end";
}

TEST_F(WatchTest, ExpiredRevisionIsGone) {
  transport.answers = {{.pieces = {testdata("watch_expired.txt")}}};
  auto stream = open().value();
  EXPECT_EQ(run(stream->next()).error().kind, ErrorKind::kGone);
  transport.answers = {kExpired};
  EXPECT_EQ(open().error().kind, ErrorKind::kGone) << "also when it is told by the status line";
}

TEST_F(WatchTest, EndWithinAnEventIsAnError) {
  const std::string body = testdata("watch_config_maps.txt");
  transport.answers = {{.pieces = {body.substr(0, body.size() / 2)}}};
  auto stream = open().value();
  while (true) {
    auto event = run(stream->next());
    if (event) {
      ASSERT_TRUE(*event) << "a proper end would lose the rest";
      continue;
    }
    EXPECT_EQ(event.error().kind, ErrorKind::kUnavailable);
    break;
  }
}

TEST_F(WatchTest, SilenceEndsTheWatchWithoutError) {
  transport.answers = {{.hangs = true}};
  WatchOptions options;
  options.silence_limit = 90s;
  auto stream = open(options).value();
  const base::MonotonicTime before = clock.monotonic();
  EXPECT_EQ(run(stream->next()).value(), std::nullopt);
  EXPECT_EQ(clock.monotonic() - before, 90s);
  EXPECT_EQ(run(stream->next()).value(), std::nullopt) << "the end stays the end";
  EXPECT_EQ(clock.monotonic() - before, 90s);
}

TEST_F(WatchTest, SilenceWithinAnEventIsAnError) {
  transport.answers = {{.pieces = {R"({"type":"ADDED","obj)"}, .hangs = true}};
  WatchOptions options;
  options.silence_limit = 90s;
  auto stream = open(options).value();
  auto event = run(stream->next());
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().kind, ErrorKind::kUnavailable);
}

// An informer of a kind without changes, against a server that sends no bookmark without a new revision.
class IdleKind : public ClientTest {
 protected:
  IdleKind() {
    transport.answers = {{.body = R"({"metadata":{"resourceVersion":"7"},"items":[]})"}, {.hangs = true}};
    InformerConfig config;
    config.resource = kConfigMaps;
    informer = std::make_unique<Informer<ConfigMap>>(
        InformerParts{loop, *client, *client, log, metrics, base::Random(7)}, std::move(config),
        [this](std::string_view bytes) { return decode_config_map(bytes, {}, {}, interner); });
    scope.spawn(informer->run());
  }
  std::size_t warnings = 0;
  base::Log log{clock, {base::LogLevel::kWarn, base::LogFormat::kText, [this](std::string_view) { ++warnings; }}};
  base::Registry metrics;
  Interner interner;
  std::unique_ptr<Informer<ConfigMap>> informer;
  net::Scope scope{loop};
};

TEST_F(IdleKind, IsFollowedFromTheLastRevisionWithoutError) {
  net::testing::run_for(loop, clock, 1h);
  EXPECT_EQ(warnings, 0u);
  EXPECT_EQ(metrics.counter("tidemark_informer_lists_total", "", {{"component", "configmaps"}}).value(), 1u);
  ASSERT_EQ(transport.sent.size(), 32u) << "a list, and a watch each two minutes";
  for (std::size_t i = 1; i < transport.sent.size(); ++i) {
    EXPECT_NE(request(i).target.find("resourceVersion=7&"), std::string::npos);
  }
  EXPECT_LE(clock.monotonic() - informer->core().last_contact(), 2min);
}

TEST_F(IdleKind, NoticesALostServerWithinTwoMinutes) {
  net::testing::run_for(loop, clock, 10min + 1s);
  transport.answers = {{.error = Error{ErrorKind::kUnavailable, "no route to host", 0, 0}}};
  net::testing::run_for(loop, clock, 2min + 30s);  // the last is how long opening a watch is tried
  EXPECT_GE(warnings, 1u);
}

TEST_F(WatchTest, RetriesOpeningWhenTheServerIsBusy) {
  transport.answers = {{.status = 429, .retry_after = "1"}, {.pieces = {}}};
  auto stream = open();
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(transport.sent.size(), 2u);
  EXPECT_EQ(run((*stream)->next()).value(), std::nullopt);
}

TEST_F(WatchTest, ReturnsUnavailableServerToTheInformer) {
  transport.answers = {{.error = Error{ErrorKind::kUnavailable, "connection refused", 0, 0}}};
  auto stream = open();
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(transport.sent.size(), 1u);
}

TEST_F(WatchTest, RefusalHasTheServersMessage) {
  transport.answers = {{.status = 401, .body = testdata("status_unauthorized.json")}};
  auto stream = open();
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().kind, ErrorKind::kDenied);
  EXPECT_NE(stream.error().message.find("Unauthorized"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::kube
