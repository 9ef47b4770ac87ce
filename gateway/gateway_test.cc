#include "gateway/gateway.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "gateway/authentication.h"
#include "gateway/routes.h"
#include "gateway/testing/world.h"
#include "net/http_client.h"
#include "net/tls.h"

namespace tidemark::gateway {
namespace {

using namespace std::chrono_literals;
using testing::World;

// The client "ann" of one realm; its token is its name.
class AcceptorTwin : public hadoop::GssAcceptor {
 public:
  net::Task<Result<Accepted>> accept(std::string token) override {
    if (token == "no KDC") co_return fail(ErrorKind::kUnavailable, "no KDC");
    if (!token.ends_with("@EXAMPLE.COM")) co_return fail(ErrorKind::kDenied, "a forged token");
    co_return Accepted{std::move(token), "proof"};
  }
};

class GatewayTest : public ::testing::Test, public World {
 protected:
  Result<std::unique_ptr<Gateway>> make(const std::string& listen) {
    gateway_options.listen = listen;
    return make();
  }
  Result<std::unique_ptr<Gateway>> make() {
    gateway_options.data_dir = folder;
    end();  // one process uses the store
    Gateway::Rim rim;
    rim.yarn = rm->cluster();
    rim.files = kube::system_files();
    rim.acceptor = std::make_shared<AcceptorTwin>();
    return Gateway::make(loop, std::move(rim), log, gateway_metrics_, base::Random(5), gateway_options);
  }
  net::HttpResponse get(const std::string& address, const std::string& target, const std::string& name,
                        const std::string& value, bool tls = false) {
    net::HttpClientConfig config;
    config.url = *net::parse_url(base::cat(tls ? "https://" : "http://", address));
    config.tls.skip_verification = true;
    net::HttpClient browser(loop, nullptr, std::move(config));
    net::HttpRequest request;
    request.target = target;
    request.headers.set(name, value);
    auto answer = run(browser.fetch(std::move(request), 10s));
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
    return answer ? *std::move(answer) : net::HttpResponse{};
  }
  int status(const std::string& address, const std::string& name, const std::string& value) {
    return get(address, "/healthz", name, value).status;
  }
  std::string write(const std::string& name, std::string_view text) {
    const std::string path = base::cat(folder, "/", name);
    std::ofstream(path) << text;
    return path;
  }
  void with_access() {
    gateway_options.access_file = write("access.yaml", base::cat(R"(schema: 1
users:
- {name: ann, business: ads, tokenSha256: [)",
                                                                 kHashOfAbc, R"(], principals: [ann@EXAMPLE.COM]}
businesses: [{name: ads}]
)"));
  }
  void with_tls() {
    const auto authority = net::make_certificate_authority("test", clock.wall(), 1h);
    ASSERT_TRUE(authority);
    const auto issued = net::issue_certificate(
        *authority,
        {.common_name = "localhost", .organization = "", .dns_names = {"localhost"}, .ip_addresses = {"127.0.0.1"}},
        clock.wall());
    ASSERT_TRUE(issued);
    gateway_options.tls_cert_file = write("tls.crt", issued->certificate_pem);
    gateway_options.tls_key_file = write("tls.key", issued->key_pem);
  }

  // Of the token "abc".
  static constexpr std::string_view kHashOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  GatewayOptions gateway_options;
  base::Registry gateway_metrics_;
};

TEST_F(GatewayTest, ServesOnlyThisMachine) {
  for (const char* listen : {"0.0.0.0:0", "10.0.0.1:8998", "[::]:0"}) {
    const auto refused = make(listen);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.contains("needs --access-file")) << refused.error().message;
  }
}

TEST_F(GatewayTest, ServesOtherMachinesOnlyWithTlsAndAuthentication) {
  gateway_options.listen = "0.0.0.0:0";
  with_access();
  EXPECT_FALSE(make());
  with_tls();
  const std::string access = std::exchange(gateway_options.access_file, "");
  EXPECT_FALSE(make());
  gateway_options.access_file = access;
  gateway_options.listen = "127.0.0.1:0";
  const auto gateway = make();
  ASSERT_TRUE(gateway) << gateway.error().message;
  EXPECT_EQ(get((*gateway)->address(), "/healthz", "accept", "*/*", true).status, 200);
}

TEST_F(GatewayTest, RefusesRequestsWithoutATokenInTheFormOfEachDoor) {
  with_access();
  const auto gateway = make("127.0.0.1:0");
  ASSERT_TRUE(gateway) << gateway.error().message;
  (*gateway)->start();
  const std::string address = (*gateway)->address();
  ASSERT_TRUE(until([&] { return get(address, "/readyz", "accept", "*/*").status == 200; })) << "for probes";
  for (const auto& [path, field] : std::map<std::string, std::string>{
           {"/batches", "msg"},
           {"/api/v1/batches", "message"},
           {"/apis/sparkoperator.k8s.io/v1beta2/namespaces/a/sparkapplications", "message"},
           {"/tidemark/v1/switch", "msg"},
           {"/metrics", "msg"}}) {
    const auto answer = get(address, path, "accept", "*/*");
    EXPECT_EQ(answer.status, 401) << path;
    EXPECT_EQ(Json::parse(answer.body)->text_at(field), "authentication is required: send a token") << path;
    EXPECT_EQ(answer.headers.get("www-authenticate"), "Negotiate");
  }
  EXPECT_EQ(get(address, "/batches", "authorization", "Bearer abc").status, 200);
  EXPECT_EQ(get(address, "/batches", "authorization", "bearer abc").status, 200);
  EXPECT_EQ(get(address, "/batches", "authorization", "Bearer abcd").status, 401);
  EXPECT_EQ(get(address, "/batches", "authorization", base::cat("Basic ", base::base64_encode("ann:abc"))).status, 200);
  EXPECT_EQ(get(address, "/batches", "authorization", base::cat("Basic ", base::base64_encode("bob:abc"))).status, 401);
  EXPECT_EQ(get(address, "/batches", "authorization", "Digest abc").status, 401);
}

TEST_F(GatewayTest, AcceptsTicketsOfKnownPrincipals) {
  with_access();
  with_tls();
  gateway_options.spnego_keytab = folder + "/keytab";
  const auto gateway = make("127.0.0.1:0");
  ASSERT_TRUE(gateway) << gateway.error().message;
  (*gateway)->start();
  const auto ask = [&](std::string_view token) {
    const std::string value = base::cat("Negotiate ", base::base64_encode(token));
    return get((*gateway)->address(), "/batches", "authorization", value, true);
  };
  ASSERT_TRUE(until([&] { return ask("ann@EXAMPLE.COM").status == 200; }));
  EXPECT_EQ(ask("ann@EXAMPLE.COM").headers.get("www-authenticate"),
            base::cat("Negotiate ", base::base64_encode("proof")));
  EXPECT_EQ(ask("bob@EXAMPLE.COM").status, 403);
  EXPECT_EQ(ask("ann@OTHER.COM").status, 401);
  EXPECT_EQ(ask("no KDC").status, 500);
}

TEST_F(GatewayTest, AcceptsTicketsOnlyOverTls) {
  with_access();
  gateway_options.spnego_keytab = folder + "/keytab";
  EXPECT_FALSE(make("127.0.0.1:0"));
}

TEST_F(GatewayTest, ReadsTheAccessFileAgainAndKeepsTheLastGoodOne) {
  with_access();
  base::Registry registry;
  const auto opened =
      Authentication::open(loop, log, registry, kube::system_files(), gateway_options.access_file, nullptr, 2ms);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE((*opened)->rules()->by_token("abc"));
  write("access.yaml", "schema: 1\nusers: x\n");
  ASSERT_TRUE(until([&] { return lines.contains("the last good one stays in force"); }));
  EXPECT_TRUE((*opened)->rules()->by_token("abc"));
  write("access.yaml", "schema: 1\n");
  ASSERT_TRUE(until([&] { return !(*opened)->rules()->by_token("abc"); }));
}

TEST_F(GatewayTest, ReadsTheRoutingFileAgainAndKeepsTheLastGoodOne) {
  const std::string file = write("routes.yaml", "");
  const auto open = [&] { return RoutesFile::open(loop, log, kube::system_files(), file, {}, 2ms); };
  EXPECT_FALSE(open()) << "it is empty";
  write("routes.yaml", "schema: 1\nrules: [{side: yarn, from: '09:00', to: '10:00', timeZone: Europe/Berlin}]\n");
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->rules().rules.at(0).window->zone.name(), "Europe/Berlin");
  std::int64_t percent = -1;
  (*opened)->follow([&](const policy::route::RouteRules& rules) { percent = rules.kubernetes_percent; });
  write("routes.yaml", "schema: 1\nrules: x\n");
  ASSERT_TRUE(until([&] { return lines.contains("cannot use routing file; the last good one stays in force"); }));
  EXPECT_EQ((*opened)->rules().rules.size(), 1U);
  EXPECT_EQ(percent, -1);
  write("routes.yaml", "schema: 1\nkubernetesPercent: 5\n");
  ASSERT_TRUE(until([&] { return percent == 5; }));
}

TEST_F(GatewayTest, DoesNotStartWithAWrongRoutingFile) {
  for (const std::string_view text :
       {"schema: 1\nrules: [{side: x}]\n",
        "schema: 1\nrules: [{side: yarn, from: '01:00', to: '02:00', timeZone: ../x}]\n",
        "schema: 1\nrules: [{side: yarn, from: '01:00', to: '02:00', timeZone: Europe}]\n"}) {
    gateway_options.routes_file = write("routes.yaml", text);
    const auto refused = make("127.0.0.1:0");
    ASSERT_FALSE(refused) << text;
    EXPECT_TRUE(refused.error().message.contains("routes.yaml: rules[0].")) << refused.error().message;
  }
}

TEST_F(GatewayTest, RefusesPagesOfOtherSites) {
  const auto gateway = make("127.0.0.1:0");
  ASSERT_TRUE(gateway) << gateway.error().message;
  const std::string address = (*gateway)->address();
  EXPECT_EQ(status(address, "accept", "*/*"), 200);
  EXPECT_EQ(status(address, "origin", base::cat("http://", address)), 200);
  EXPECT_EQ(status(address, "origin", "https://example.com"), 403);
}

}  // namespace
}  // namespace tidemark::gateway
