// The client: lists in pages.
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "base/text.h"
#include "kube/testing/scripted_transport.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;
using testing::ClientTest;
using testing::kExpired;

std::string page(std::string_view revision, std::string_view next, std::string_view items) {
  return base::cat(R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":")", revision,
                   R"(","continue":")", next, R"("},"items":[)", items, "]}");
}

class ListTest : public ClientTest {
 protected:
  Result<std::string> list(ListOptions options = {}, base::Duration limit = 60s) {
    return run(client->list(
        kPods, std::move(options),
        [this](std::string_view text) -> Result<void> {
          pages.emplace_back(text);
          sent_before.push_back(transport.sent.size());
          if (pages.size() == refuse_page) return base::fail(ErrorKind::kExhausted, "the cache is full");
          return {};
        },
        [this] {
          ++restarts;
          pages.clear();
        },
        limit));
  }
  static ListOptions ahead() {
    ListOptions options;
    options.read_ahead = true;
    return options;
  }
  std::vector<std::string> pages;
  std::vector<std::size_t> sent_before;  // requests, when a page was read
  int restarts = 0;
  std::size_t refuse_page = 0;
};

TEST_F(ListTest, FollowsContinueTokens) {
  transport.answers = {{.body = page("7", "c/1+", "1")}, {.body = page("7", "c2", "2")}, {.body = page("7", "", "3")}};
  ListOptions options;
  options.ns = "web";
  options.label_selector = "app in (a,b),!c";
  options.field_selector = "spec.nodeName=n1";
  options.page_size = 2;
  options.resource_version = "0";
  EXPECT_EQ(list(options).value(), "7");
  EXPECT_EQ(pages.size(), 3u);
  EXPECT_EQ(request(0).target,
            "/api/v1/namespaces/web/pods?labelSelector=app%20in%20%28a%2Cb%29%2C%21c&"
            "fieldSelector=spec.nodeName%3Dn1&limit=2&resourceVersion=0");
  EXPECT_EQ(request(1).target,
            "/api/v1/namespaces/web/pods?labelSelector=app%20in%20%28a%2Cb%29%2C%21c&"
            "fieldSelector=spec.nodeName%3Dn1&limit=2&continue=c%2F1%2B");
}

TEST_F(ListTest, UsesOneBudgetPlaceForAllPages) {
  make({.queries_per_second = 2, .burst = 1});
  for (const bool read_ahead : {false, true}) {
    const std::size_t first = transport.sent.size();
    transport.answers = {{.body = page("7", "c1", "1")}, {.body = page("7", "c2", "2")}, {.body = page("7", "", "3")}};
    ListOptions options;
    options.read_ahead = read_ahead;
    ASSERT_TRUE(list(options));
    EXPECT_EQ(between(first, first + 2), 0ms);
  }
  EXPECT_EQ(between(2, 3), 500ms) << "the next list waits for its own";
}

TEST_F(ListTest, RestartsOnExpiredContinueToken) {
  transport.answers = {
      {.body = page("7", "c1", "1")}, kExpired, {.body = page("9", "c3", "2")}, {.body = page("9", "", "3")}};
  EXPECT_EQ(list().value(), "9");
  EXPECT_EQ(restarts, 1);
  EXPECT_EQ(pages.size(), 2u);
  EXPECT_EQ(request(2).target, "/api/v1/pods?limit=500");
}

TEST_F(ListTest, FetchesWholeListAfterRepeatedExpiry) {
  transport.answers = {{.body = page("7", "c1", "1")},
                       kExpired,
                       {.body = page("8", "c2", "1")},
                       kExpired,
                       {.body = page("9", "", "1,2,3")}};
  EXPECT_EQ(list().value(), "9");
  EXPECT_EQ(restarts, 2);
  EXPECT_EQ(pages.size(), 1u);
  EXPECT_EQ(request(4).target, "/api/v1/pods");
}

TEST_F(ListTest, ReturnsExpiryOfTheFirstPage) {
  transport.answers = {kExpired};
  ListOptions options;
  options.resource_version = "5";
  EXPECT_EQ(list(options).error().kind, ErrorKind::kGone);
  EXPECT_EQ(restarts, 0);
}

TEST_F(ListTest, RefusedPageEndsTheList) {
  transport.answers = {{.body = page("7", "c1", "1")}, {.body = page("7", "c2", "1")}};
  refuse_page = 2;
  EXPECT_EQ(list().error().message, "the cache is full");
  EXPECT_EQ(transport.sent.size(), 2u);
}

TEST_F(ListTest, StopsWhenContinueTokensRepeat) {
  transport.answers = {{.body = page("7", "c1", "1")}};
  EXPECT_EQ(list().error().kind, ErrorKind::kInternal);
  EXPECT_EQ(transport.sent.size(), 2u);
}

TEST_F(ListTest, RetriesABrokenPage) {
  transport.answers = {{.body = page("7", "c1", "1")},
                       {.error = Error{ErrorKind::kUnavailable, "connection reset", 0, 0}},
                       {.body = page("7", "", "2")}};
  EXPECT_EQ(list().value(), "7");
  EXPECT_EQ(pages.size(), 2u);
  EXPECT_EQ(request(2).target, request(1).target);
}

TEST_F(ListTest, ReadsAhead) {
  const std::deque<testing::Answer> all = {
      {.body = page("7", "c1", "1")}, {.body = page("7", "c2", "2")}, {.body = page("7", "", "3")}};
  transport.answers = all;
  EXPECT_EQ(list().value(), "7");
  EXPECT_EQ(sent_before, (std::vector<std::size_t>{1, 2, 3}));
  sent_before.clear();
  pages.clear();
  transport.sent.clear();
  transport.answers = all;
  EXPECT_EQ(list(ahead()).value(), "7");
  EXPECT_EQ(sent_before, (std::vector<std::size_t>{2, 3, 3})) << "the next page is under way while one is read";
  EXPECT_EQ(pages.size(), 3U);
}

TEST_F(ListTest, ReadAheadRestartsOnExpiredToken) {
  transport.answers = {
      {.body = page("7", "c1", "1")}, kExpired, {.body = page("9", "c3", "2")}, {.body = page("9", "", "3")}};
  EXPECT_EQ(list(ahead()).value(), "9");
  EXPECT_EQ(restarts, 1);
  EXPECT_EQ(pages.size(), 2U);
}

TEST_F(ListTest, RefusedPageEndsReadAhead) {
  transport.answers = {{.body = page("7", "c1", "1")}, {.body = page("7", "c2", "1"), .delay = 4s}};
  refuse_page = 1;
  EXPECT_EQ(list(ahead()).error().message, "the cache is full");
  EXPECT_EQ(pages.size(), 1U);
}

TEST_F(ListTest, ReadAheadStopsWhenContinueTokensRepeat) {
  transport.answers = {{.body = page("7", "c1", "1")}};
  EXPECT_EQ(list(ahead()).error().kind, ErrorKind::kInternal);
  EXPECT_EQ(transport.sent.size(), 2U);
}

TEST_F(ListTest, GarbageIsAnError) {
  transport.answers = {{.body = "<html>"}};
  EXPECT_EQ(list().error().kind, ErrorKind::kInvalid);
  EXPECT_TRUE(pages.empty());
}

TEST_F(ListTest, DeadlineCoversAllPages) {
  transport.answers = {{.body = page("7", "c1", "1"), .delay = 4s},
                       {.body = page("7", "c2", "1"), .delay = 4s},
                       {.body = page("7", "c3", "1"), .delay = 4s}};
  EXPECT_EQ(list({}, 10s).error().kind, ErrorKind::kDeadline);
  EXPECT_EQ(pages.size(), 2u);
}

}  // namespace
}  // namespace tidemark::kube
