#include "hadoop/web_hdfs.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "net/http_server.h"
#include "net/testing/loop.h"

namespace tidemark::hadoop {
namespace {

using namespace std::chrono_literals;
using base::cat;

// A NameNode that sends clients on to itself for bytes, as a DataNode.
class NameNode {
 public:
  NameNode(net::EventLoop& loop, const base::Log& log) {
    net::HttpServerConfig config;
    config.listen = "127.0.0.1:0";
    server_ = *net::HttpServer::listen(loop, log, std::move(config),
                                       [this](net::HttpExchange& exchange) { return handle(exchange); });
  }
  net::Url url() const { return *net::parse_url(cat("http://", server_->address())); }

  bool standby = false;
  std::map<std::string, std::string> files;
  std::set<std::string> users;

 private:
  net::Task<void> handle(net::HttpExchange& exchange) {
    const auto target = *net::parse_target(exchange.head().target);
    const auto body = co_await exchange.body(1 << 20);
    const std::string path = target.path.substr(std::string_view("/webhdfs/v1").size());
    const std::string_view operation = target.get("op");
    const bool transfers = operation == "CREATE" || operation == "APPEND" || operation == "OPEN";
    users.emplace(target.get("user.name"));
    if (standby) {
      exchange.respond(403, "application/json",
                       R"({"RemoteException":{"exception":"StandbyException","message":"s"}})");
    } else if (operation != "CREATE" && !files.contains(path)) {
      exchange.respond(404, "application/json",
                       R"({"RemoteException":{"exception":"FileNotFoundException","message":"no such file"}})");
    } else if (transfers && !target.has("datanode")) {
      EXPECT_EQ(*body, "") << "the first step carries no bytes";
      net::Headers headers;
      headers.add("location", cat("http://", server_->address(), exchange.head().target, "&datanode=true"));
      exchange.respond(307, std::move(headers), net::make_buffer(""));
    } else if (operation == "CREATE") {
      files[path] = *body;
      exchange.respond(201, "text/plain", "");
    } else if (operation == "APPEND") {
      files[path] += *body;
      exchange.respond(200, "text/plain", "");
    } else if (operation == "OPEN") {
      const auto from = static_cast<std::size_t>(*base::parse_int(target.get("offset")));
      const auto size = static_cast<std::size_t>(*base::parse_int(target.get("length")));
      exchange.respond(200, "application/octet-stream", files[path].substr(from, size));
    } else if (operation == "GETFILESTATUS") {
      exchange.respond(200, "application/json",
                       cat(R"({"FileStatus":{"pathSuffix":"","type":"FILE","modificationTime":17,"length":)",
                           files[path].size(), "}}"));
    } else {
      exchange.respond(400, "application/json", R"({"RemoteException":{"message":"bad"}})");
    }
  }

  std::unique_ptr<net::HttpServer> server_;
};

class WebHdfsTest : public ::testing::Test {
 protected:
  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(loop, std::move(task));
  }
  base::SystemClock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {.level = base::LogLevel::kError, .write = [](std::string_view) {}}};
  NameNode first{loop, log};
  NameNode second{loop, log};
};

TEST_F(WebHdfsTest, WritesAndReadsAFileThroughADataNode) {
  WebHdfs hdfs(loop, nullptr, {first.url()}, "ann", {});
  ASSERT_TRUE(run(hdfs.create("/a b/x", "one", 5s)));
  ASSERT_TRUE(run(hdfs.append("/a b/x", " two", 5s)));
  EXPECT_EQ(first.files.at("/a b/x"), "one two");
  EXPECT_EQ(*run(hdfs.read("/a b/x", 2, 3, 5s)), "e t");
  const auto status = run(hdfs.status("/a b/x", 5s));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->bytes, 7);
  EXPECT_EQ(status->modified_ms, 17);
  EXPECT_TRUE(first.users.contains("ann"));
}

TEST_F(WebHdfsTest, MissingFileIsNotFoundWithTheWordsOfHdfs) {
  WebHdfs hdfs(loop, nullptr, {first.url()}, "ann", {});
  const auto status = run(hdfs.status("/x", 5s));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(status.error().message.contains("no such file")) << status.error().message;
}

TEST_F(WebHdfsTest, AsksTheOtherNameNodeIfOneIsOnStandby) {
  first.standby = true;
  WebHdfs hdfs(loop, nullptr, {first.url(), second.url()}, "ann", {});
  ASSERT_TRUE(run(hdfs.create("/x", "one", 5s)));
  EXPECT_TRUE(second.files.contains("/x"));
}

TEST(WebHdfs, FindsTheAddressesOfNameNodes) {
  const auto one = name_node_addresses({}, "nn:8020");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->at(0).host, "nn");
  EXPECT_EQ(one->at(0).port, 9870);
  EXPECT_EQ(name_node_addresses({{"dfs.namenode.http-address", "0.0.0.0:50070"}}, "nn:8020")->at(0).port, 50070);
  const std::map<std::string, std::string> two = {{"dfs.ha.namenodes.big", "a, b"},
                                                  {"dfs.namenode.http-address.big.a", "one:1"},
                                                  {"dfs.namenode.http-address.big.b", "two:2"}};
  EXPECT_EQ(name_node_addresses(two, "big")->at(1).host, "two");
  EXPECT_FALSE(name_node_addresses({{"dfs.ha.namenodes.big", "a"}}, "big"));
}

TEST(WebHdfs, ReadsAListOfFiles) {
  const auto files = parse_file_list(
      R"({"FileStatuses":{"FileStatus":[{"pathSuffix":"a","type":"DIRECTORY","length":0,"modificationTime":5}]}})");
  ASSERT_TRUE(files);
  EXPECT_EQ(files->at(0).name, "a");
  EXPECT_TRUE(files->at(0).folder);
  EXPECT_FALSE(parse_file_list("{}"));
}

}  // namespace
}  // namespace tidemark::hadoop
