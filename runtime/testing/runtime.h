// A runtime on an API server in memory, with pods as real processes. Its shims are this program too
// (containers_test.cc).
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/yaml.h"
#include "kube/client.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "linux/cgroup/kill.h"
#include "net/http_client.h"
#include "net/testing/loop.h"
#include "runtime/runtime.h"

namespace tidemark::runtime::testing {

using namespace std::chrono_literals;

// A wall clock that a test can set.
class SetClock final : public base::Clock {
 public:
  base::MonotonicTime monotonic() const override { return real_.monotonic(); }
  base::BootTime boot() const override { return real_.boot(); }
  base::WallTime wall() const override { return real_.wall() + off; }

  base::Duration off{0};

 private:
  base::SystemClock real_;
};

// Which threads wait for what is being killed.
class WatchedRim final : public linux::KillRim {
 public:
  linux::GroupWriter& writer() override { return kernel_.writer(); }
  pid_t self() const override { return spared > 0 ? spared.load() : kernel_.self(); }
  Result<std::optional<Fd>> open_process(pid_t pid) override { return kernel_.open_process(pid); }
  Result<bool> signal(const Fd& process, int signal) override { return kernel_.signal(process, signal); }
  void wait(std::span<const Fd> processes, base::Duration at_most) override {
    waited.insert(std::this_thread::get_id());  // one at a time; looked at when that thread is joined
    kernel_.wait(processes, at_most);
  }
  std::set<std::thread::id> waited;
  std::atomic<pid_t> spared = 0;  // > 0: a group that holds this process is not to be ended

 private:
  linux::KernelKillRim kernel_;
};

struct RuntimeTest : ::testing::Test {
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "runtime-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    options.node_name = "here";
    options.data_dir = folder;
    options.cgroup_root = folder + "/none";
    options.shim_argv = {std::filesystem::read_symlink("/proc/self/exe"), "--as-shim"};
    auto opened = kube::memory::Server::open(loop, log, {}, nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    api = std::move(*opened);
    transport = std::make_unique<kube::memory::LocalTransport>(loop, api->handler(), "tester");
    client = client_over(*transport);
  }
  std::unique_ptr<kube::Client> client_over(net::HttpTransport& way) {
    kube::ClientConfig config;
    config.queries_per_second = 10'000;
    config.burst = 10'000;
    return std::make_unique<kube::Client>(loop, way, [] { return std::string(); }, config, base::Random(1));
  }
  void TearDown() override {
    for (const Json& pod : pods()) remove(std::string(pod.text_at("metadata", "name")), 0);
    if (runtime) until([&] { return pods().empty() && std::filesystem::is_empty(folder + "/containers"); });
    runtime.reset();
    std::filesystem::remove_all(folder);
  }
  void begin() { begin(*client); }
  void begin(kube::Client& server) {
    auto made = Runtime::make(loop, server, log, metrics.emplace(), base::Random(2), killing, options);
    ASSERT_TRUE(made) << made.error().message;
    runtime = std::move(*made);
    runtime->start();
  }

  template <class T>
  T wait(net::Task<T> task) {
    return net::testing::run_task(loop, std::move(task), 60s);
  }
  void make(std::string_view name, std::string_view spec) {
    const auto tree = base::parse_yaml(base::cat("metadata: {name: ", name, "}\nspec:\n  nodeName: here\n", spec));
    ASSERT_TRUE(tree) << tree.error().message;
    kube::WriteOptions where;
    where.ns = "default";
    const auto made = wait(client->create(kube::kPods, tree->dump(), where, "", 10s));
    ASSERT_TRUE(made) << made.error().message;
  }
  void remove(const std::string& name, std::optional<std::int64_t> grace = {}) {
    kube::WriteOptions where;
    where.ns = "default";
    where.grace_period_s = grace;
    [[maybe_unused]] const auto gone = wait(client->remove(kube::kPods, name, "", where, 10s));
  }
  Json pod(const std::string& name) {
    const auto got = wait(client->get(kube::kPods, "default", name, 10s));
    if (!got) return {};
    return Json::parse(*got).value_or(Json());
  }
  std::vector<Json> pods() {
    std::vector<Json> out;
    kube::ListOptions where;
    where.ns = "default";
    [[maybe_unused]] const auto done = wait(client->list(
        kube::kPods, std::move(where),
        [&](std::string_view page) -> Result<void> {
          const auto list = Json::parse(page);
          if (list && list->member("items") != nullptr) out = list->member("items")->as_array();
          return {};
        },
        [] {}, 10s));
    return out;
  }
  // The pod list as an agent reads it, which asks as it would ask a kubelet; none while the pods are not known yet.
  std::vector<Json> pods_told() {
    net::HttpClientConfig http;
    http.url = *net::parse_url("unix:" + pods_socket(options));
    net::HttpClient asker(loop, nullptr, http);
    net::HttpRequest request;
    request.target = "/pods";
    const auto answer = wait(asker.fetch(request, 10s));
    const Json list = answer && answer->status == 200 ? Json::parse(answer->body).value_or(Json()) : Json();
    return list.member("items") == nullptr ? std::vector<Json>() : list.member("items")->as_array();
  }
  // Which process it is, as its shim wrote it down.
  std::string process_of(const std::string& name) {
    return text_of(base::cat(folder, "/containers/", pod(name).text_at("metadata", "uid"), "/main/0/running.json"));
  }
  Json node() {
    const auto got = wait(client->get(kube::kNodes, "", "here", 10s));
    return got ? Json::parse(*got).value_or(Json()) : Json();
  }
  std::string message_of_node() {
    const Json found = node();
    const Json* conditions = found.at("status", "conditions");
    return conditions == nullptr ? "" : std::string(conditions->as_array().at(0).text_at("message"));
  }
  std::string phase(const std::string& name) { return std::string(pod(name).text_at("status", "phase")); }
  const Json container(const std::string& name) {
    const Json all = pod(name);
    const Json* list = all.at("status", "containerStatuses");
    return list != nullptr && !list->as_array().empty() ? list->as_array()[0] : Json();
  }
  bool runs_as_restart(const std::string& name, std::int64_t number) {
    const Json one = container(name);
    return one.at("state", "running") != nullptr && one.at("restartCount")->as_int() == number;
  }
  // What a shim does, the loop does not hear of: it is looked at again and again.
  template <class Condition>
  void until(Condition&& condition) {
    ASSERT_TRUE(net::testing::run_real_until(loop, [&] {
      look_again = loop.after(20ms, [] {});
      return condition();
    })) << lines;
  }
  std::size_t lines_with(std::string_view words) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(base::split(lines, '\n'), [&](std::string_view line) { return line.contains(words); }));
  }
  std::string log_of(const std::string& name) {
    for (const auto& each : std::filesystem::directory_iterator(folder + "/logs")) {
      if (!each.path().filename().string().starts_with("default_" + name + "_")) continue;
      std::ifstream file(each.path() / "main" / "0.log");
      return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
    return "";
  }

  // As the machine would: nothing runs any more, and it has another number by which its life is known.
  void reboot() {
    runtime.reset();
    const auto each = [&](std::string_view name, auto&& what) {
      for (const auto& file : std::filesystem::recursive_directory_iterator(folder + "/containers")) {
        if (file.path().filename() == name) what(file.path().string());
      }
    };
    // The shims first: they would tell how the others ended.
    each("lock", [](const std::string& file) { kill_and_wait(static_cast<pid_t>(std::stol(text_of(file)))); });
    each("running.json", [](const std::string& file) {
      kill_and_wait(static_cast<pid_t>(Json::parse(text_of(file))->at("pid")->as_int()));
    });
    each("begin.json", [](const std::string& file) {
      auto tree = Json::parse(text_of(file));
      (*tree)["boot"] = "another";
      std::ofstream(file) << tree->dump();
    });
  }
  static void kill_and_wait(pid_t pid) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);  // a shim is our child, as it is its runtime's
    std::error_code refused;     // without root, the files of a process that has ended are refused
    while (std::filesystem::exists(base::cat("/proc/", pid, "/fd/0"), refused)) ::poll(nullptr, 0, 5);
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder, lines;
  SetClock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  std::unique_ptr<kube::memory::Server> api;
  std::unique_ptr<kube::memory::LocalTransport> transport;
  std::unique_ptr<kube::Client> client;
  std::optional<base::Registry> metrics;
  WatchedRim killing;
  RuntimeOptions options;
  net::Timer look_again;
  std::unique_ptr<Runtime> runtime;
};

// A shell that ends at once leaves what it began its time. The file tells what the pod's log cannot once it is gone.
inline constexpr std::string_view kPutsAway = R"(
  containers:
  - name: main
    image: local
    command: [sh, -c, '(trap "sleep 0.3; echo >> $0/kept; exit" TERM; echo up; while :; do sleep 0.05; done) & wait', )";

}  // namespace tidemark::runtime::testing
