// The server and the manager's thread, for real: with their clock, their sockets and the file of objects.
#include "embedded/embedded.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "agent/latch/latch.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/config.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/testing/own_group.h"
#include "net/admin.h"
#include "net/http_client.h"
#include "net/testing/loop.h"

namespace tidemark::embedded {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kGuard = 5min;  // a test that hangs ends after it; nothing waits for it otherwise
constexpr base::Duration kEmbeddedCallLimit = 30s;
constexpr base::Duration kLookAgain = 20ms;

class EmbeddedConcurrentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "tidemark-embedded-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    client.reset();
    transport.reset();
    embedded.reset();
    std::filesystem::remove_all(folder);
  }

  // One that shows no groups, with pods.
  EmbeddedOptions machine() const {
    EmbeddedOptions options;
    options.pods = true;
    options.runtime.node_name = "here";
    options.runtime.metrics_address = options.agent.metrics_address = "0";
    options.agent.places = {folder + "/none", "/proc", folder + "/run", folder + "/off"};
    options.data_dir = folder + "/data";
    options.listen = "127.0.0.1:0";
    options.manager.metrics_address = "127.0.0.1:0";
    return options;
  }

  void start(bool pods = false) {
    EmbeddedOptions options = machine();
    options.pods = pods;
    start(std::move(options));
  }
  void start(EmbeddedOptions options) {
    auto started = Embedded::start(loop, log, metrics, 1, std::move(options),
                                   [](const Error& error) { ADD_FAILURE() << error.message; });
    ASSERT_TRUE(started) << started.error().message;
    embedded = std::move(*started);
    kube::ConfigRequest request;
    request.kubeconfig = embedded->kubeconfig();
    auto config = kube::find_config(request, kube::system_files(), clock);
    ASSERT_TRUE(config) << config.error().message;
    transport = std::make_unique<net::HttpClient>(loop, nullptr, std::move(config->http));
    client = std::make_unique<kube::Client>(loop, *transport, std::move(config->bearer), kube::ClientConfig(),
                                            base::Random(2));
  }

  void stop() {
    client.reset();
    transport.reset();
    net::testing::run_task(loop, embedded->drain(), kGuard);
    embedded.reset();
  }

  // Until the object is there.
  net::Task<void> wait_for(const kube::Resource& resource, std::string name) {
    while (!co_await client->get(resource, "", name, kEmbeddedCallLimit)) co_await loop.sleep(kLookAgain);
  }

  net::Task<void> wait_for_node_that_says(std::string words) {
    while (true) {
      const auto node = co_await client->get(kube::kNodes, "", "here", kEmbeddedCallLimit);
      if (node && node->contains(words)) co_return;
      co_await loop.sleep(kLookAgain);
    }
  }

  std::string folder;
  base::SystemClock clock;
  net::EventLoop loop{clock};
  base::Registry metrics;
  base::Log log{clock, {base::LogLevel::kDebug, base::LogFormat::kText, [](std::string_view) {}}};
  std::unique_ptr<Embedded> embedded;
  std::unique_ptr<net::HttpClient> transport;
  std::unique_ptr<kube::Client> client;
};

TEST_F(EmbeddedConcurrentTest, ManagerServesNodesAfterRestart) {
  start();
  ASSERT_FALSE(HasFatalFailure());
  const auto made = net::testing::run_task(
      loop, client->create(kube::kNodes, R"({"metadata":{"name":"n"}})", {}, "", kEmbeddedCallLimit), kGuard);
  ASSERT_TRUE(made) << made.error().message;
  net::testing::run_task(loop, wait_for(kube::kNodeSlos, "n"), kGuard);
  stop();

  start();
  ASSERT_FALSE(HasFatalFailure());
  const auto kept = net::testing::run_task(loop, client->get(kube::kNodes, "", "n", kEmbeddedCallLimit), kGuard);
  EXPECT_TRUE(kept) << kept.error().message;
  stop();
}

TEST_F(EmbeddedConcurrentTest, CanDrainBeforeManagerStarts) {
  for (int i = 0; i < 3; ++i) {
    start();
    ASSERT_FALSE(HasFatalFailure());
    stop();
  }
}

// Where there are no groups the agent has nothing to do; the node is there all the same.
TEST_F(EmbeddedConcurrentTest, MachineWithoutCgroupsIsANode) {
  for (int i = 0; i < 2; ++i) {
    start(true);
    ASSERT_FALSE(HasFatalFailure());
    net::testing::run_task(loop, wait_for(kube::kNodes, "here"), kGuard);
    const auto settings = net::testing::run_task(
        loop, client->get(kube::kConfigMaps, "koordinator-system", "slo-controller-config", kEmbeddedCallLimit),
        kGuard);
    EXPECT_TRUE(settings) << "sold by defaults: " << settings.error().message;
    net::testing::run_task(loop, wait_for_node_that_says("without limits: they have no groups"), kGuard);
    stop();
  }
}

// Without an agent only the embedded process reads the latch, and the queue uses the state of the node.
TEST_F(EmbeddedConcurrentTest, ReportsLatchWithoutAgent) {
  ASSERT_TRUE(agent::set_latch(folder + "/off", {"root@here", "disk", {}, ""}));
  start(true);
  ASSERT_FALSE(HasFatalFailure());
  net::testing::run_task(loop, wait_for_node_that_says(R"("status":"True","reason":"Unable")"), kGuard);
  ASSERT_TRUE(agent::clear_latch(folder + "/off"));
  net::testing::run_task(loop, wait_for_node_that_says(R"("status":"False","reason":"Unable")"), kGuard);
  stop();
}

// Some other program had it first, and has it no more.
TEST_F(EmbeddedConcurrentTest, AgentStartsWhenItsAddressBecomesFree) {
  std::ifstream mounts("/proc/self/mountinfo");
  const std::string text(std::istreambuf_iterator<char>(mounts), {});
  const auto groups = linux::Hierarchies::discover(linux::testing::kMachineRoot, text);
  if (!groups || groups->all().empty()) GTEST_SKIP() << "this machine shows no groups";
  const linux::testing::OwnGroup own(*groups);
  base::Registry others;
  auto taken = net::serve_admin(loop, log, "127.0.0.1:0", others, [] { return std::string(); });
  ASSERT_TRUE(taken && *taken) << taken.error().message;
  EmbeddedOptions options = machine();
  options.agent.places.cgroup_root = linux::testing::kMachineRoot;
  options.agent.mode = "observe";
  options.runtime.group = base::cat("/", own.name(), "/here");
  options.agent.metrics_address = (*taken)->address();
  start(std::move(options));
  ASSERT_FALSE(HasFatalFailure());
  net::testing::run_task(loop, wait_for_node_that_says("the agent cannot start"), kGuard);
  taken->reset();
  net::testing::run_task(loop, wait_for_node_that_says("Observing"), kGuard);
  stop();
}

// A calendar alone in the file of settings does not keep the machine from being sold.
TEST_F(EmbeddedConcurrentTest, SettingsFileWithoutOfferUsesDefaults) {
  const std::string file = folder + "/settings.yaml";
  std::ofstream(file)
      << "kind: ConfigMap\nmetadata: {name: tidemark-config}\ndata: {config.yaml: \"{schema: 1, mode: enforce}\"}\n";
  EmbeddedOptions options = machine();
  options.settings = file;
  start(std::move(options));
  ASSERT_FALSE(HasFatalFailure());
  net::testing::run_task(loop, wait_for(kube::kNodes, "here"), kGuard);  // it comes after the settings
  for (const char* name : {"slo-controller-config", "tidemark-config"}) {
    const auto found = net::testing::run_task(
        loop, client->get(kube::kConfigMaps, "koordinator-system", name, kEmbeddedCallLimit), kGuard);
    EXPECT_TRUE(found) << name << ": " << found.error().message;
  }
  stop();
}

// The agent begins later than the server: what it would refuse is said before anything is served.
TEST_F(EmbeddedConcurrentTest, RejectsInvalidCopilotAtStart) {
  const std::string socket = folder + "/copilot.sock";
  for (const std::string& wrong : {socket, socket + "=", socket + "=/up/../.."}) {
    EmbeddedOptions options = machine();
    options.agent.tasks.copilots = {wrong};
    const auto refused = Embedded::start(loop, log, metrics, 1, std::move(options), [](const Error&) {});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_TRUE(refused.error().message.starts_with("--copilot ")) << refused.error().message;
    EXPECT_FALSE(std::filesystem::exists(folder + "/data"));
  }
}

TEST_F(EmbeddedConcurrentTest, TakenPortChangesNothing) {
  start();
  ASSERT_FALSE(HasFatalFailure());
  EmbeddedOptions options = machine();
  options.data_dir = folder + "/another";
  options.listen = embedded->address();
  const auto refused = Embedded::start(loop, log, metrics, 1, std::move(options), [](const Error&) {});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with(base::cat("--listen: listening on ", embedded->address(), ": ")))
      << refused.error().message;
  EXPECT_FALSE(std::filesystem::exists(folder + "/another"));
  stop();
}

TEST_F(EmbeddedConcurrentTest, NamesOwnerOfTakenDataDirectory) {
  start();
  ASSERT_FALSE(HasFatalFailure());
  base::Registry others;
  const auto refused = Embedded::start(loop, log, others, 1, machine(), [](const Error&) {});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with(folder + "/data/objects.sqlite is in use by another server"))
      << refused.error().message;
  stop();
}

TEST_F(EmbeddedConcurrentTest, CanBeDestroyedWithoutDrain) {
  start();
  ASSERT_FALSE(HasFatalFailure());
  net::testing::run_task(loop, wait_for(kube::kNamespaces, "default"), kGuard);
}

}  // namespace
}  // namespace tidemark::embedded
