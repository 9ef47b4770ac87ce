#include "kube/config.h"

#include <gtest/gtest.h>

#include <map>

#include "base/testing/clock.h"

namespace tidemark::kube {
namespace {

// Files in memory: a map of path to content, whose stamp changes with each write.
class MemoryFiles {
 public:
  void write(const std::string& path, std::string content) { held_[path] = {std::move(content), ++writes_}; }
  void remove(const std::string& path) { held_.erase(path); }
  int reads() const { return reads_; }
  int stamps() const { return stamps_; }

  Files files() {
    return {[this](const std::string& path, std::size_t bytes_max) -> Result<std::string> {
              ++reads_;
              const auto at = held_.find(path);
              if (at == held_.end()) return base::fail(ErrorKind::kNotFound, path, ": no such file");
              if (at->second.content.size() > bytes_max) return base::fail(ErrorKind::kExhausted, path, ": too big");
              return at->second.content;
            },
            [this](const std::string& path) -> std::optional<FileStamp> {
              ++stamps_;
              const auto at = held_.find(path);
              if (at == held_.end()) return std::nullopt;
              return FileStamp{1, at->second.inode, 0, static_cast<std::int64_t>(at->second.content.size())};
            }};
  }

 private:
  struct Held {
    std::string content;
    std::uint64_t inode;
  };
  std::map<std::string, Held> held_;
  std::uint64_t writes_ = 0;
  int reads_ = 0;
  int stamps_ = 0;
};

class ConfigTest : public ::testing::Test {
 protected:
  Result<ClusterConfig> parse(std::string text, std::string_view context = "") {
    const KubeconfigText one{"/home/u/.kube/config", std::move(text)};
    return parse_kubeconfig({&one, 1}, context, memory.files(), clock);
  }
  // A kubeconfig of one cluster and one user.
  Result<ClusterConfig> with(std::string_view cluster, std::string_view user) {
    return parse(base::cat("{clusters: [{name: c, cluster: {", cluster, "}}], users: [{name: u, user: {", user,
                           "}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}"));
  }
  void expect_refused(std::string_view cluster, std::string_view user, ErrorKind kind, std::string_view said) {
    auto config = with(cluster, user);
    ASSERT_FALSE(config) << cluster << " / " << user;
    EXPECT_EQ(config.error().kind, kind) << config.error().message;
    EXPECT_NE(config.error().message.find(said), std::string::npos) << config.error().message;
  }

  MemoryFiles memory;
  base::testing::Clock clock;
};

constexpr std::string_view kServer = "server: https://10.0.0.1:6443";

TEST_F(ConfigTest, ReadsKubeconfigOfKubeadm) {
  auto config = parse(R"(
apiVersion: v1
kind: Config
preferences: {}
clusters:
- cluster:
    certificate-authority-data: UEVNIENB
    server: https://10.0.0.1:6443
    tls-server-name: kubernetes
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    namespace: web
    user: kubernetes-admin
  name: kubernetes-admin@kubernetes
current-context: kubernetes-admin@kubernetes
users:
- name: kubernetes-admin
  user:
    client-certificate-data: UEVNIENFUlQ=
    client-key-data: UEVNIEtFWQ==
)");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->http.url.host, "10.0.0.1");
  EXPECT_EQ(config->http.url.port, 6443);
  EXPECT_EQ(config->http.tls.ca.text, "PEM CA");
  EXPECT_EQ(config->http.tls.certificate.text, "PEM CERT");
  EXPECT_EQ(config->http.tls.key.text, "PEM KEY");
  EXPECT_EQ(config->http.tls.server_name, "kubernetes");
  EXPECT_FALSE(config->http.tls.skip_verification);
  EXPECT_EQ(config->default_namespace, "web");
  EXPECT_EQ(config->source, "kubeconfig /home/u/.kube/config (context kubernetes-admin@kubernetes)");
  EXPECT_EQ(config->bearer(), "");
}

TEST_F(ConfigTest, ReadsKubeconfigInJson) {
  auto config = parse(R"({"kind":"Config","apiVersion":"v1","current-context":"x",
    "clusters":[{"name":"c","cluster":{"server":"https://h","insecure-skip-tls-verify":true}}],
    "users":[{"name":"u","user":{"token":"abc.def"}}],
    "contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}]})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->http.tls.skip_verification);
  EXPECT_EQ(config->bearer(), "abc.def");
  EXPECT_EQ(config->default_namespace, "default");
}

TEST_F(ConfigTest, ResolvesPathsAgainstTheDirectoryOfTheFile) {
  auto config = with(base::cat(kServer, ", certificate-authority: pki/ca.crt"),
                     "client-certificate: /abs/c.crt, client-key: c.key");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->http.tls.ca.file, "/home/u/.kube/pki/ca.crt");
  EXPECT_EQ(config->http.tls.certificate.file, "/abs/c.crt");
  EXPECT_EQ(config->http.tls.key.file, "/home/u/.kube/c.key");
}

TEST_F(ConfigTest, InlineDataOverridesTheFile) {
  auto config =
      with(base::cat(kServer, ", certificate-authority: ca.crt, certificate-authority-data: UEVN"), "token: t");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->http.tls.ca.text, "PEM");
  EXPECT_EQ(config->http.tls.ca.file, "");
}

TEST_F(ConfigTest, ReadsTheCredentialPluginOfAUser) {
  memory.write("/home/u/.kube/ca.crt", "PEM CA");
  const auto config =
      with(base::cat(kServer,
                     ", certificate-authority: ca.crt, tls-server-name: k8s, extensions: [{name: "
                     "client.authentication.k8s.io/exec, extension: {audience: a}}]"),
           "exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/login, args: [get-token, --region, eu], "
           "env: [{name: AWS_PROFILE, value: ops}], installHint: install it, interactiveMode: Never, "
           "provideClusterInfo: true}");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_TRUE(config->plugin);
  EXPECT_EQ(config->plugin->user, "u");
  EXPECT_EQ(config->plugin->command, "/home/u/.kube/bin/login") << "relative to the kubeconfig";
  const auto command = plugin_command(*config->plugin, true);
  ASSERT_TRUE(command);
  EXPECT_EQ(command->argv, (std::vector<std::string>{"/home/u/.kube/bin/login", "get-token", "--region", "eu"}));
  ASSERT_EQ(command->env.size(), 2u);
  EXPECT_EQ(command->env[0], std::pair(std::string("AWS_PROFILE"), std::string("ops")));
  EXPECT_EQ(command->env[1].second,
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":{)"
            R"("server":"https://10.0.0.1:6443","tls-server-name":"k8s","certificate-authority-data":"UEVNIENB",)"
            R"("config":{"audience":"a"}},"interactive":false}})");
}

TEST_F(ConfigTest, FindsAPluginWithoutASlashInPath) {
  const auto config = with(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->plugin->command, "aws");
  EXPECT_EQ(config->plugin->interactive, InteractiveMode::kIfAvailable) << "default of v1beta1";
  EXPECT_EQ(config->plugin->cluster, "");
}

TEST_F(ConfigTest, RefusesAnIncompletePlugin) {
  expect_refused(kServer, "exec: {command: aws}", ErrorKind::kUnsupported, "user \"u\": exec: apiVersion \"\"");
  expect_refused(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: aws}",
                 ErrorKind::kUnsupported, "update the plugin");
  expect_refused(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}",
                 ErrorKind::kInvalid, "command is not set");
  expect_refused(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws}", ErrorKind::kInvalid,
                 "interactiveMode \"\": expected Never, IfAvailable or Always");
  expect_refused("server: http://10.0.0.1", "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}",
                 ErrorKind::kInvalid, "unencrypted");
}

TEST_F(ConfigTest, TokenOverridesThePlugin) {
  const auto config = with(kServer, "token: t, exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_FALSE(config->plugin);
  EXPECT_EQ(config->bearer(), "t");
}

TEST_F(ConfigTest, RefusesUnsupportedFieldsByName) {
  expect_refused(kServer, "auth-provider: {name: gcp}", ErrorKind::kUnsupported,
                 "user \"u\": auth-provider: Kubernetes 1.26 removed it; use the cloud's exec plugin");
  expect_refused(kServer, "username: a, password: b", ErrorKind::kUnsupported, "user \"u\": username: ");
  expect_refused(kServer, "as: admin, token: t", ErrorKind::kUnsupported, "user \"u\": as: ");
  expect_refused(base::cat(kServer, ", proxy-url: http://proxy:3128"), "token: t", ErrorKind::kUnsupported,
                 "cluster \"c\": proxy-url: ");
}

TEST_F(ConfigTest, IgnoresUnsupportedFieldsOfOtherEntries) {
  auto config = parse(R"({clusters: [{name: c, cluster: {server: "https://h"}}], current-context: x,
    users: [{name: cloud, user: {exec: {command: aws}}}, {name: u, user: {token: t}}],
    contexts: [{name: x, context: {cluster: c, user: u}}, {name: y, context: {cluster: c, user: cloud}}]})");
  ASSERT_TRUE(config) << config.error().message;
}

TEST_F(ConfigTest, RefusesContradictions) {
  expect_refused("", "token: t", ErrorKind::kInvalid, "cluster \"c\": server is not set");
  expect_refused("server: ':nonsense'", "", ErrorKind::kInvalid, "cluster \"c\": server: ");
  expect_refused(kServer, "client-certificate: a", ErrorKind::kInvalid, "must be set together");
  expect_refused(kServer, "client-key-data: UEVN", ErrorKind::kInvalid, "must be set together");
  expect_refused(base::cat(kServer, ", insecure-skip-tls-verify: true, certificate-authority: x"), "",
                 ErrorKind::kInvalid, "contradict each other");
  expect_refused(base::cat(kServer, ", certificate-authority-data: '%%%'"), "", ErrorKind::kInvalid,
                 "certificate-authority-data: not base64");
  expect_refused(base::cat(kServer, ", insecure-skip-tls-verify: maybe"), "", ErrorKind::kInvalid,
                 "insecure-skip-tls-verify: wanted true or false");
  expect_refused(kServer, "token: 123", ErrorKind::kInvalid, "user \"u\": token: wanted a string");
  expect_refused(kServer, "token: \"a\\nb: c\"", ErrorKind::kInvalid, "printable ASCII");
}

TEST_F(ConfigTest, RefusesTokenWithoutTls) {
  expect_refused("server: 'http://10.0.0.1:8080'", "token: t", ErrorKind::kInvalid, "unencrypted");
  EXPECT_TRUE(with("server: 'http://127.0.0.1:8080'", "token: t"));
  EXPECT_TRUE(with("server: 'http://10.0.0.1:8080'", ""));
}

TEST_F(ConfigTest, ErrorsDoNotShowTheToken) {
  auto config = with(kServer, "token: \"se cret\"");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message.find("se cret"), std::string::npos);
}

TEST_F(ConfigTest, ReportsMissingNames) {
  const std::string text = R"({clusters: [{name: c, cluster: {server: "https://h"}}], users: [],
    contexts: [{name: a, context: {cluster: nope}}, {name: b, context: {cluster: c, user: who}}]})";
  auto none = parse(text);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("no current-context is set; name one of: \"a\", \"b\""), std::string::npos)
      << none.error().message;
  auto wrong = parse(text, "z");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::kNotFound);
  auto cluster = parse(text, "a");
  ASSERT_FALSE(cluster);
  EXPECT_NE(cluster.error().message.find("no cluster \"nope\"; there are: \"c\""), std::string::npos);
  auto user = parse(text, "b");
  ASSERT_FALSE(user);
  EXPECT_NE(user.error().message.find("no user \"who\"; there are: none"), std::string::npos);
}

TEST_F(ConfigTest, ReportsWrongTypes) {
  for (const char* text : {"[]", "x", "clusters: {}", "clusters: [x]", "clusters: [{name: 1}]", "kind: Pod",
                           "clusters: [{name: c, cluster: []}]", "clusters: [{name: c}, {name: c}]", "a: [", "{",
                           "current-context: [x]"}) {
    auto config = parse(text);
    ASSERT_FALSE(config) << text;
    EXPECT_TRUE(config.error().message.starts_with("kubeconfig /home/u/.kube/config: ")) << config.error().message;
  }
  EXPECT_FALSE(parse(""));
  EXPECT_FALSE(parse(std::string(kKubeconfigBytesMax + 1, ' ')));
}

TEST_F(ConfigTest, MergesSeveralFilesLikeKubectl) {
  const KubeconfigText texts[] = {
      {"/one/config", R"({current-context: x, clusters: [{name: c, cluster: {server: "https://first"}}]})"},
      {"/two/config", R"({current-context: y, clusters: [{name: c, cluster: {server: "https://second"}}],
          users: [{name: u, user: {client-certificate: crt, client-key: key}}],
          contexts: [{name: x, context: {cluster: c, user: u}}]})"}};
  auto config = parse_kubeconfig(texts, "", memory.files(), clock);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->http.url.host, "first") << "the first file that names it wins";
  EXPECT_EQ(config->http.tls.key.file, "/two/key") << "relative to the file that says it";
}

TEST_F(ConfigTest, RereadsTokenFiles) {
  memory.write("/home/u/.kube/token", " one\n");
  auto config = with(kServer, "tokenFile: token, token: old");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->bearer(), "one");
  memory.write("/home/u/.kube/token", "two");
  EXPECT_EQ(config->bearer(), "one") << "not looked at again within a second";
  clock.advance(kTokenLookInterval);
  EXPECT_EQ(config->bearer(), "two");
  const int reads = memory.reads();
  const int stamps = memory.stamps();
  for (int i = 0; i < 10; ++i) {
    clock.advance(kTokenLookInterval / 2);
    EXPECT_EQ(config->bearer(), "two");
  }
  EXPECT_EQ(memory.reads(), reads) << "an unchanged file is not read";
  EXPECT_EQ(memory.stamps(), stamps + 5) << "and looked at once a second";
}

TEST_F(ConfigTest, KeepsOldTokenIfTheFileIsUnreadable) {
  memory.write("/t", "one");
  auto opened = TokenFile::open("/t", memory.files(), clock);
  ASSERT_TRUE(opened) << opened.error().message;
  TokenFile& file = **opened;
  EXPECT_FALSE(file.problem());
  const auto look = [&] {
    clock.advance(kTokenLookInterval);
    return file.token();
  };
  memory.remove("/t");
  EXPECT_EQ(look(), "one");
  ASSERT_TRUE(file.problem());
  EXPECT_EQ(file.problem()->kind, ErrorKind::kNotFound);
  memory.write("/t", "");
  EXPECT_EQ(look(), "one");
  ASSERT_TRUE(file.problem());
  EXPECT_NE(file.problem()->message.find("empty"), std::string::npos);
  memory.write("/t", "two\nlines");
  EXPECT_EQ(look(), "one");
  memory.write("/t", std::string(kTokenBytesMax + 1, 'x'));
  EXPECT_EQ(look(), "one");
  EXPECT_EQ(file.reads(), 1u);
  memory.write("/t", "three");
  EXPECT_EQ(look(), "three");
  EXPECT_FALSE(file.problem());
}

TEST_F(ConfigTest, ReportsAMissingTokenFile) {
  expect_refused(kServer, "tokenFile: gone", ErrorKind::kNotFound, "user \"u\": tokenFile: token: /home/u/.kube/gone");
  auto config = with(kServer, "tokenFile: gone, token: beside");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->bearer(), "beside");
}

class FindConfigTest : public ConfigTest {
 protected:
  static std::string kubeconfig(std::string_view host) {
    return base::cat("{clusters: [{name: c, cluster: {server: 'https://", host,
                     "'}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}");
  }
  void make_pod() {
    const std::string folder = "/pod/var/run/secrets/kubernetes.io/serviceaccount/";
    memory.write(folder + "token", "pod-token\n");
    memory.write(folder + "ca.crt", "PEM");
    memory.write(folder + "namespace", "koordinator-system");
    request.service_host = "10.96.0.1";
    request.service_port = "443";
    request.root = "/pod";
  }
  ConfigRequest request;
};

TEST_F(FindConfigTest, InCluster) {
  make_pod();
  auto config = find_config(request, memory.files(), clock);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->source, "in-cluster");
  EXPECT_EQ(config->http.url.scheme, "https");
  EXPECT_EQ(config->http.url.host, "10.96.0.1");
  EXPECT_EQ(config->http.url.port, 443);
  EXPECT_EQ(config->http.tls.ca.file, "/pod/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
  EXPECT_EQ(config->default_namespace, "koordinator-system");
  EXPECT_EQ(config->bearer(), "pod-token");
  ASSERT_NE(config->token_file, nullptr);
}

TEST_F(FindConfigTest, InClusterHasNoContexts) {
  make_pod();
  request.context = "staging";
  const auto found = find_config(request, memory.files(), clock);
  ASSERT_FALSE(found) << "another cluster than the one named, and not a word";
  EXPECT_NE(found.error().message.find("staging"), std::string::npos);
}

TEST_F(FindConfigTest, InClusterOverIpv6) {
  make_pod();
  request.service_host = "fd00::1";
  auto config = find_config(request, memory.files(), clock);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->http.url.host, "fd00::1");
}

TEST_F(FindConfigTest, InClusterWithoutItsFiles) {
  make_pod();
  memory.remove("/pod/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
  auto no_ca = find_config(request, memory.files(), clock);
  ASSERT_FALSE(no_ca);
  EXPECT_NE(no_ca.error().message.find("ca.crt is missing"), std::string::npos);
  memory.remove("/pod/var/run/secrets/kubernetes.io/serviceaccount/token");
  EXPECT_FALSE(find_config(request, memory.files(), clock));
}

TEST_F(FindConfigTest, TheOrderOfPlaces) {
  auto nothing = find_config(request, memory.files(), clock);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::kNotFound);

  request.home = "/home/u";
  memory.write("/home/u/.kube/config", kubeconfig("home"));
  EXPECT_EQ(find_config(request, memory.files(), clock)->http.url.host, "home");

  make_pod();
  EXPECT_EQ(find_config(request, memory.files(), clock)->source, "in-cluster");

  request.kubeconfig_list = "/missing::/env";
  memory.write("/env", kubeconfig("env"));
  EXPECT_EQ(find_config(request, memory.files(), clock)->http.url.host, "env");

  request.kubeconfig = "/named";
  auto missing = find_config(request, memory.files(), clock);
  ASSERT_FALSE(missing) << "a file that was named is not passed over";
  memory.write("/named", kubeconfig("named"));
  EXPECT_EQ(find_config(request, memory.files(), clock)->http.url.host, "named");
}

TEST_F(FindConfigTest, FailsIfAllFilesOfTheListAreMissing) {
  make_pod();
  request.kubeconfig_list = "/missing:/also";
  auto config = find_config(request, memory.files(), clock);
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().message.find("KUBECONFIG names \"/missing:/also\""), std::string::npos);
}

}  // namespace
}  // namespace tidemark::kube
