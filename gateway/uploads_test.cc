#include "gateway/uploads.h"

#include <gtest/gtest.h>

#include "gateway/kyuubi.h"
#include "gateway/testing/world.h"

namespace tidemark::gateway {
namespace {

using namespace std::chrono_literals;
using base::cat;
using testing::Answer;

class UploadsTest : public ::testing::Test, public testing::World {
 protected:
  UploadsTest() : uploads(loop, log, *open_file_store(loop, {}, folder + "/files"), 1h) {}

  std::string path_of(const std::string& content) { return cat(net::Sha256().add(content).hex(), "/job.jar"); }
  std::string target(const std::string& content, std::int64_t from) {
    return cat("/tidemark/v1/files/", path_of(content), "?bytes=", content.size(), "&from=", from);
  }
  Uploads uploads;
};

TEST_F(UploadsTest, FileComesInPiecesAndIsThereForTheNextClient) {
  const std::string content = "0123456789";
  Answer answer = ask(uploads, "GET", target(content, 0), "");
  EXPECT_EQ(answer.body.at("have")->as_int(), 0);
  answer = ask(uploads, "PUT", target(content, 0), "0123");
  EXPECT_EQ(answer.body.at("have")->as_int(), 4);
  EXPECT_EQ(answer.body.at("url"), nullptr);
  answer = ask(uploads, "PUT", target(content, 4), "456789");
  EXPECT_EQ(answer.body.text_at("url"), cat("local://", folder, "/files/", path_of(content)));
  answer = ask(uploads, "GET", target(content, 0), "");
  EXPECT_FALSE(answer.body.text_at("url").empty());
}

TEST_F(UploadsTest, PieceAtAnotherPlaceIsRefused) {
  const std::string content = "0123456789";
  EXPECT_EQ(ask(uploads, "PUT", target(content, 4), "4567").status, 409);
  EXPECT_EQ(ask(uploads, "PUT", target(content, 0), "0123").status, 200);
  EXPECT_EQ(ask(uploads, "PUT", target(content, 5), "56789").status, 409);
  EXPECT_EQ(ask(uploads, "PUT", target(content, 4), "45678901").status, 409) << "more than it said";
  EXPECT_EQ(ask(uploads, "PUT", target(content, 0), "0123").status, 200) << "a client may begin again";
}

TEST_F(UploadsTest, OtherContentThanItsDigestIsRefused) {
  const std::string content = "0123456789";
  const Answer answer = ask(uploads, "PUT", target(content, 0), "0123456780");
  EXPECT_EQ(answer.status, 400);
  EXPECT_TRUE(answer.body.text_at("msg").contains("SHA-256"));
  EXPECT_EQ(ask(uploads, "GET", target(content, 0), "").body.at("url"), nullptr);
}

TEST_F(UploadsTest, NameMayNotLeaveItsFolder) {
  const std::string digest = net::Sha256().add("x").hex();
  for (const std::string name : {"..", "a%2Fb", "%2e%2e%2fb", "", "a%00"}) {
    EXPECT_EQ(ask(uploads, "PUT", cat("/tidemark/v1/files/", digest, "/", name, "?bytes=1"), "x").status, 400) << name;
  }
  EXPECT_EQ(ask(uploads, "PUT", "/tidemark/v1/files/abc/x?bytes=1", "x").status, 400);
}

TEST_F(UploadsTest, KyuubiTakesTheFilesOfAFormRequest) {
  Kyuubi door(*runs, &uploads);
  const std::string form =
      "--b\r\nContent-Disposition: form-data; name=\"batchRequest\"\r\n\r\n"
      R"({"batchType":"SPARK","className":"A","conf":{"spark.kubernetes.container.image":"i"},)"
      R"("extraResourcesMap":{"spark.jars":"more.jar"}})"
      "\r\n--b\r\nContent-Disposition: form-data; name=\"resourceFile\"; filename=\"job.jar\"\r\n\r\nJAR"
      "\r\n--b\r\nContent-Disposition: form-data; name=\"extra\"; filename=\"more.jar\"\r\n\r\nMORE\r\n--b--\r\n";
  kube::memory::LocalTransport transport_of_door(
      loop, [&door](net::HttpExchange& exchange) { return door.handle(exchange); }, "");
  net::HttpRequest request;
  request.method = "POST";
  request.target = "/api/v1/batches";
  request.headers.add("content-type", "multipart/form-data; boundary=b");
  request.body = form;
  const auto answer = run(transport_of_door.fetch(request, 10s));
  ASSERT_EQ(answer->status, 200) << answer->body;
  const auto page = run(runs->page(0, 10));
  ASSERT_EQ(page->records.size(), 1U);
  EXPECT_EQ(page->records[0].job.file, cat("local://", folder, "/files/", net::Sha256().add("JAR").hex(), "/job.jar"));
  EXPECT_TRUE(page->records[0].job.conf_or("spark.jars", "").ends_with("/more.jar"));
}

}  // namespace
}  // namespace tidemark::gateway
