#include "manager/webhook/webhook_certificates.h"

#include <gtest/gtest.h>

#include "base/testing/clock.h"
#include "base/text.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using policy::admission::RotationStep;

CertificateOptions certificate_options() {
  CertificateOptions out;
  out.dns_names = {"koordinator-webhook-service.koordinator-system.svc"};
  out.ip_addresses = {"127.0.0.1"};
  return out;
}

bool trusts_none(std::string_view) {
  return false;
}

SecretObject as_read(const StoredCertificates& certificates) {
  Json object = secret_of(certificates);
  object["metadata"]["name"] = "s";
  return *decode_secret(object.dump());
}

TEST(WebhookCertificates, RoundTripsTheSecret) {
  const base::testing::Clock clock;
  auto made = *rotate({}, RotationStep::kMakeAll, certificate_options(), clock.wall());
  made = *rotate(made, RotationStep::kMakeNext, certificate_options(), clock.wall());
  const auto read = read_certificates(as_read(made));
  EXPECT_EQ(read.bundle(), made.bundle());
  EXPECT_EQ(read.serving.key_pem, made.serving.key_pem);
  EXPECT_EQ(read.next.key_pem, made.next.key_pem);
  EXPECT_TRUE(read.next_since);
  // Koordinator's names, so that its manager goes on with it.
  const Json data = *secret_of(made).at("data");
  for (const auto* key : {"ca-cert.pem", "ca-key.pem", "cert.pem", "key.pem", "tls.crt", "tls.key"}) {
    EXPECT_FALSE(data.text_at(key).empty()) << key;
  }
}

TEST(WebhookCertificates, EachRotationStepKeepsTheCertificateTrusted) {
  const base::testing::Clock clock;
  StoredCertificates state;
  for (const auto step : {RotationStep::kMakeAll, RotationStep::kIssueServing, RotationStep::kMakeNext,
                          RotationStep::kPromoteNext, RotationStep::kDropOld}) {
    const std::string bundle_before = state.bundle();
    state = *rotate(state, step, certificate_options(), clock.wall());
    EXPECT_TRUE(net::check_certificate(state.serving, state.authority.certificate_pem));
    const auto facts = rotation_facts(state, certificate_options(), trusts_none);
    EXPECT_TRUE(facts.serving_fits);
    // A client with the bundle from before the step trusts the new signer.
    if (!bundle_before.empty()) {
      EXPECT_NE(bundle_before.find(base::trim(state.authority.certificate_pem)), std::string::npos);
    }
  }
  EXPECT_TRUE(state.old_authority_pem.empty());
}

TEST(WebhookCertificates, DetectsMismatchedMaterial) {
  const base::testing::Clock clock;
  const auto made = *rotate({}, RotationStep::kMakeAll, certificate_options(), clock.wall());
  CertificateOptions more = certificate_options();
  more.ip_addresses.emplace_back("10.0.0.7");
  EXPECT_FALSE(rotation_facts(made, more, trusts_none).serving_fits);
  StoredCertificates broken = made;
  broken.authority = rotate({}, RotationStep::kMakeAll, certificate_options(), clock.wall())->authority;
  EXPECT_FALSE(rotation_facts(broken, certificate_options(), trusts_none).serving_fits);
  broken.authority.key_pem.clear();
  EXPECT_FALSE(rotation_facts(broken, certificate_options(), trusts_none).ca);
  broken.serving.certificate_pem = "garbage";
  EXPECT_FALSE(rotation_facts(broken, certificate_options(), trusts_none).serving);
}

TEST(WebhookCertificates, RefusesAnAuthorityWithAnotherKey) {
  const base::testing::Clock clock;
  auto mixed = *rotate({}, RotationStep::kMakeAll, certificate_options(), clock.wall());
  EXPECT_TRUE(rotation_facts(mixed, certificate_options(), trusts_none).ca);
  mixed.authority.key_pem = rotate({}, RotationStep::kMakeAll, certificate_options(), clock.wall())->authority.key_pem;
  const auto facts = rotation_facts(mixed, certificate_options(), trusts_none);
  EXPECT_FALSE(facts.ca) << "what it issued would never fit";
  EXPECT_EQ(policy::admission::next_rotation(facts, {}, clock.wall()).step, RotationStep::kMakeAll);
}

TEST(WebhookCertificates, ShortLifetimeDoesNotExpireAtOnce) {
  const base::testing::Clock clock;
  CertificateOptions brief = certificate_options();
  brief.authority_lifetime = 15s;
  brief.serving_lifetime = 8s;
  const auto made = *rotate({}, RotationStep::kMakeAll, brief, clock.wall());
  const auto facts = rotation_facts(made, brief, trusts_none);
  EXPECT_EQ(policy::admission::next_rotation(facts, {}, clock.wall()).step, RotationStep::kNothing);
  EXPECT_EQ(policy::admission::next_rotation(facts, {}, clock.wall() + 7s).step, RotationStep::kIssueServing);
}

TEST(WebhookCertificates, EndlessRotationBacksOff) {
  StepsInARow steps;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(steps.rest_after_another(), 0s);
  EXPECT_EQ(steps.rest_after_another(), 2s);
  EXPECT_EQ(steps.rest_after_another(), 4s);
  for (int i = 0; i < 20; ++i) steps.rest_after_another();
  EXPECT_EQ(steps.rest_after_another(), 10min);
  steps.settled();
  EXPECT_EQ(steps.rest_after_another(), 0s);
}

TEST(WebhookCertificates, ErrorOfAnInvalidSecretOmitsItsContent) {
  const auto read = decode_secret(R"({"metadata":{"name":"s"},"data":{"tls.key":"not base64 at all!"}})");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "Secret s: data.tls.key is not base64");
}

}  // namespace
}  // namespace tidemark::manager
