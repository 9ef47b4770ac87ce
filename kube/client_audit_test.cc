// The client: what is told of writes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/testing/scripted_transport.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;
using testing::ClientTest;
using testing::in;

TEST_F(ClientTest, EveryWriteIsToldWithWhatCameOfIt) {
  std::vector<model::AuditLine> told;
  ClientConfig config;
  config.audit_actor = "somebody";
  config.audit = [&](model::AuditLine line) { told.push_back(std::move(line)); };
  make(std::move(config));
  transport.answers = {{}, {.status = 409}, {.error = Error{ErrorKind::kUnavailable, "the line is cut", 0, 0}}};
  WriteOptions options;
  options.subresource = "status";
  options.note = {"TM-WRITE-005", R"({"a":1})", "0123456789abcdef"};
  run(client->patch(kNodes, "n", PatchType::kMerge, R"({"a":2})", options, 5s)).value();
  EXPECT_FALSE(run(client->create(kConfigMaps, R"({"metadata":{"name":"c"}})", in("system"), "", 5s)));
  EXPECT_FALSE(run(client->remove(kPods, "p", "uid", in("web"), 5s)));

  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].actor, "somebody");
  EXPECT_EQ(told[0].verb + " " + told[0].kind + " " + told[0].name + " " + told[0].part, "patch Node n status");
  EXPECT_EQ(told[0].old_value, R"({"a":1})");
  EXPECT_EQ(told[0].new_value, R"({"a":2})");
  EXPECT_EQ(told[0].reason, "TM-WRITE-005");
  EXPECT_EQ(told[0].config, "0123456789abcdef");
  EXPECT_EQ(told[0].outcome, model::AuditOutcome::kDone);
  EXPECT_EQ(told[0].trace.size(), 36u);
  EXPECT_EQ(request(0).headers.get("audit-id"), told[0].trace) << "so that the server's own audit log has the same";
  EXPECT_NE(told[0].trace, told[1].trace);
  EXPECT_EQ(told[1].verb + " " + told[1].ns + " " + told[1].name, "create system c");
  EXPECT_EQ(told[1].outcome, model::AuditOutcome::kRefused);
  EXPECT_EQ(told[2].verb + " " + told[2].name, "delete p");
  EXPECT_EQ(told[2].new_value, "");
  EXPECT_EQ(told[2].outcome, model::AuditOutcome::kUnknown) << "it may have happened";
}

TEST_F(ClientTest, WhatChangesNothingIsNotToldAndSecretsNeverAre) {
  std::vector<model::AuditLine> told;
  ClientConfig config;
  config.audit = [&](model::AuditLine line) { told.push_back(std::move(line)); };
  make(std::move(config));
  transport.answers = {{}};
  WriteOptions dry;
  dry.dry_run = true;
  run(client->patch(kNodes, "n", PatchType::kMerge, "{}", dry, 5s)).value();
  run(client->create(kEvents, "{}", in("web"), "", 5s)).value();
  run(client->get(kNodes, "", "n", 5s)).value();
  EXPECT_TRUE(told.empty());
  run(client->ahead().patch(kSecrets, "s", PatchType::kMerge, R"({"data":{"tls.key":"c2VjcmV0"}})", in("web"), 5s))
      .value();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].name, "s");
  EXPECT_EQ(told[0].new_value, "");
}

}  // namespace
}  // namespace tidemark::kube
