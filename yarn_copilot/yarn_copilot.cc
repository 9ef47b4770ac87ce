#include "yarn_copilot/yarn_copilot.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "hadoop/negotiate.h"
#include "hadoop/node_manager.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"
#include "net/admin.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "yarn_copilot/adoption.h"
#include "yarn_copilot/api.h"
#include "yarn_copilot/application_book.h"
#include "yarn_copilot/container_list.h"
#include "yarn_copilot/containers.h"
#include "yarn_copilot/disk_limit.h"
#include "yarn_copilot/ends.h"
#include "yarn_copilot/local_limit.h"
#include "yarn_copilot/machine.h"
#include "yarn_copilot/trouble_watch.h"

namespace tidemark::yarn_copilot {
namespace {

constexpr std::size_t kMountsBytesMax = 32 * 1024 * 1024;  // a node has several mounts for each container
constexpr base::Duration kDrainLimit = std::chrono::seconds(5);
// Every user may connect if others than us may ask: the kernel gives the peer's uid, and other users get 403.
constexpr unsigned kOwnMode = 0600, kAnyMode = 0666;

Result<net::HttpClientConfig> node_manager_config(const CopilotOptions& options) {
  const bool plain = options.node_manager.find("://") == std::string::npos;
  auto url = net::parse_url(plain ? base::cat("http://", options.node_manager) : options.node_manager);
  if (!url) return fail(std::move(url).error().within("--node-manager-endpoint"));
  net::HttpClientConfig out;
  out.url = *std::move(url);
  out.tls.ca.file = options.node_manager_ca;
  out.limits.body_bytes_max = hadoop::kNodeAnswerBytesMax;
  out.connect_timeout = options.node_manager_limit;
  out.user_agent = "tidemark-yarn-copilot/" TIDEMARK_VERSION;
  return out;
}

Result<std::set<uid_t>> users_of(const std::vector<std::string>& texts) {
  std::set<uid_t> out{0, ::getuid()};
  for (const std::string& text : texts) {
    const auto uid = base::parse_int(text);
    if (!uid || *uid < 0 || *uid >= std::numeric_limits<uid_t>::max()) {
      return fail(ErrorKind::kInvalid, "--allow-users: wanted a uid, found ", base::in_quotes(text));
    }
    out.insert(static_cast<uid_t>(*uid));
  }
  return out;
}

struct SeenGroups {
  linux::Hierarchies hierarchies;
  linux::Hierarchies others;
};
Result<SeenGroups> see_groups(const CopilotOptions& options) {
  linux::Buffer buffer(kMountsBytesMax);
  TM_TRY(const auto mounts, linux::read_path(options.proc_root + "/self/mountinfo", buffer));
  // Koordinator's own default ends with a slash.
  std::string root = options.cgroup_root;
  while (root.size() > 1 && root.ends_with('/')) root.pop_back();
  TM_TRY(auto hierarchies, linux::Hierarchies::discover(root, mounts.value_or("")));
  TM_TRY(auto others, linux::Hierarchies::discover_others(root, mounts.value_or("")));
  return SeenGroups{std::move(hierarchies), std::move(others)};
}

linux::IoLimit disk_limit_of(const CopilotOptions& options) {
  const auto bytes = [](std::int64_t mib) { return mib > 0 ? std::optional(mib << 20) : std::nullopt; };
  return {bytes(options.disk_read_mib), bytes(options.disk_write_mib)};
}

bool limits_disks(const CopilotOptions& options) {
  return disk_limit_of(options) != linux::IoLimit();
}

// A NodeManager lists an ended container for one heartbeat, which is a second; more frequent passes would only see the
// cached list.
base::Duration ends_interval(const CopilotOptions& options) {
  return std::max(options.ends_interval, options.list_age + std::chrono::milliseconds(50));
}

bool is_there(const linux::Hierarchies& hierarchies, std::string_view path) {
  const auto group = linux::Group::open(hierarchies, path);
  return group && *group;
}

std::string_view above(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}

Result<std::string> group_of(const CopilotOptions& options, const linux::Hierarchies& hierarchies) {
  std::string out;
  for (const std::string_view part : base::split(options.group, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      return fail(ErrorKind::kInvalid, "--yarn-container-cgroup-path ", base::in_quotes(options.group),
                  " leads up: name the group from the root of its hierarchy");
    }
    out += base::cat(out.empty() ? "" : "/", part);
  }
  if (out.empty()) {
    return fail(ErrorKind::kInvalid, "--yarn-container-cgroup-path: the root of a hierarchy contains all processes");
  }
  const bool systemd = out == kDefaultGroup && !is_there(hierarchies, above(kDefaultGroup)) &&
                       is_there(hierarchies, above(kSystemdGroup));
  return systemd ? std::string(kSystemdGroup) : out;
}

// A NodeManager uses Kerberos at its web address only if its cluster does.
std::unique_ptr<hadoop::NegotiatingTransport> prove_to(net::EventLoop& loop, net::HttpClient& client,
                                                       const std::optional<hadoop::RmCluster>& managers,
                                                       const std::string& principal) {
  if (!managers || !managers->security || !managers->make_gss) return nullptr;
  return std::make_unique<hadoop::NegotiatingTransport>(loop, client, managers->make_gss, principal);
}

// What can fail, done before.
struct Prepared {
  SeenGroups groups;
  linux::Folder proc;
  std::string group;  // of containers, from the root of a hierarchy
  net::HttpClientConfig client;
  std::set<uid_t> users;
};

class RunningCopilot final : public YarnCopilot {
 public:
  RunningCopilot(net::EventLoop& loop, Rim rim, const base::Log& log, base::Registry& metrics, CopilotOptions options,
                 Prepared prepared)
      : loop_(loop),
        log_(log),
        metrics_(metrics),
        options_(std::move(options)),
        hierarchies_(std::move(prepared.groups.hierarchies)),
        others_(std::move(prepared.groups.others)),
        proc_(std::move(prepared.proc)),
        client_(loop, &rim.workers, std::move(prepared.client)),
        proving_(prove_to(loop, client_, rim.managers, options_.node_manager_principal)),
        manager_(proving_ ? static_cast<net::HttpTransport&>(*proving_) : client_),
        list_(loop, manager_, log, metrics, {.age_max = options_.list_age, .limit = options_.node_manager_limit}),
        machine_(hierarchies_, others_, proc_, rim.killing, std::move(prepared.group), options_.adopt,
                 limits_disks(options_)),
        applications_(loop, rim.workers, log, metrics, base::Random(rim.seed), {.managers = std::move(rim.managers)}),
        containers_(loop, list_, machine_, applications_, log, options_.millicores_per_vcore),
        ends_(loop, machine_, log, metrics, rim.audit),
        local_(loop, containers_, ends_, log, metrics,
               {options_.local_dirs, options_.local_dirs_limit_mib << 20, options_.local_dirs_grace}),
        disks_(loop, hierarchies_, containers_, log, metrics, rim.audit,
               {machine_.parent(), options_.local_dirs, disk_limit_of(options_), options_.sys_root,
                options_.permit_patience}),
        troubles_(loop, containers_, {options_.queues, ends_interval(options_)}, log, metrics),
        api_(loop, {containers_, ends_, machine_, disks_, metrics, rim.audit, &local_}, log,
             {.users = std::move(prepared.users), .queues = options_.queues}),
        adoption_(loop, containers_, machine_, log),
        limiting_(loop),
        scope_(loop) {}

  Result<void> listen() {
    const std::filesystem::path folder = std::filesystem::path(options_.socket).parent_path();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      return fail(ErrorKind::kIo, "--server-endpoint: the folder ", folder.string(), ": ", error.message());
    }
    net::HttpServerConfig config;
    config.listen = base::cat("unix:", options_.socket);
    config.unix_mode = options_.users.empty() ? kOwnMode : kAnyMode;
    auto server = net::HttpServer::listen(loop_, log_, config,
                                          [this](net::HttpExchange& exchange) { return api_.answer(exchange); });
    if (!server) return fail(std::move(server).error().within("--server-endpoint"));
    server_ = *std::move(server);
    TM_TRY(admin_, net::serve_admin(loop_, log_, options_.metrics_address, metrics_, [this] { return not_ready(); }));
    log_.info("serving", {{"socket", options_.socket},
                          {"node_manager", options_.node_manager},
                          {"group", machine_.parent()},
                          {"cgroups", linux::to_string(hierarchies_.layout())}});
    scope_.spawn(troubles_.watch_ends());
    scope_.spawn(troubles_.watch_stuck());
    if (!options_.local_dirs.empty()) scope_.spawn(local_.run());
    if (limits_disks(options_)) limiting_.spawn(disks_.run());
    scope_.spawn(options_.adopt ? adoption_.run() : first_look());
    return {};
  }

  std::string not_ready() const override {
    return list_.is_up() ? std::string() : base::cat("the NodeManager at ", options_.node_manager, " does not answer");
  }
  std::string metrics_address() const override { return admin_ ? admin_->address() : ""; }
  net::Task<void> drain() override {
    if (server_) co_await server_->drain(kDrainLimit);
    limiting_.clear();  // stop the loop, which would limit again
    co_await disks_.put_back();
  }

 private:
  // So that log and /readyz show the state before the first client asks.
  net::Task<void> first_look() { (void)co_await containers_.running(Detail::kPlain); }

  net::EventLoop& loop_;
  base::Log log_;
  base::Registry& metrics_;
  CopilotOptions options_;
  linux::Hierarchies hierarchies_;
  linux::Hierarchies others_;
  linux::Folder proc_;
  net::HttpClient client_;
  std::unique_ptr<hadoop::NegotiatingTransport> proving_;  // null without Kerberos
  hadoop::NodeManager manager_;
  ContainerList list_;
  Machine machine_;
  ApplicationBook applications_;
  Containers containers_;
  Ends ends_;
  LocalLimit local_;
  DiskLimit disks_;
  TroubleWatch troubles_;
  Api api_;
  Adoption adoption_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<net::HttpServer> admin_;
  net::Scope limiting_;
  net::Scope scope_;
};

}  // namespace

Result<std::unique_ptr<YarnCopilot>> YarnCopilot::make(net::EventLoop& loop, Rim rim, base::Log log,
                                                       base::Registry& metrics, CopilotOptions options) {
  if (options.sync_memory_cgroup) {
    log.warn("--sync-memory-cgroup has no effect: it is for Hadoop 2",
             {{"helps", "Hadoop 3 makes memory cgroups itself: yarn.nodemanager.resource.memory.enabled"}});
  }
  if (options.local_dirs.empty() && options.local_dirs_limit_mib > 0) {
    return fail(ErrorKind::kInvalid, "--local-dirs-limit-mib: --nm-local-dirs is not set");
  }
  if (limits_disks(options) && options.local_dirs.empty()) {
    return fail(ErrorKind::kInvalid,
                "--disk-read-limit-mib and --disk-write-limit-mib: --nm-local-dirs "
                "names no folder");
  }
  if (!options.socket.starts_with('/')) {
    return fail(ErrorKind::kInvalid, "--server-endpoint: wanted an absolute path, found ",
                base::in_quotes(options.socket));
  }
  TM_TRY(auto client, node_manager_config(options));
  TM_TRY(auto users, users_of(options.users));
  TM_TRY(auto groups, see_groups(options));
  if (limits_disks(options) && !options.adopt && DiskLimit::wants_one_group(groups.hierarchies)) {
    return fail(ErrorKind::kUnsupported,
                "--disk-read-limit-mib and --disk-write-limit-mib: with cgroup v1 a limit applies only to "
                "processes in the cgroup itself, and --adopt puts containers there");
  }
  TM_TRY(auto proc, linux::Folder::open(options.proc_root));
  TM_TRY(auto group, group_of(options, groups.hierarchies));
  auto out = std::make_unique<RunningCopilot>(loop, std::move(rim), log, metrics, std::move(options),
                                              Prepared{.groups = std::move(groups),
                                                       .proc = std::move(proc),
                                                       .group = std::move(group),
                                                       .client = std::move(client),
                                                       .users = std::move(users)});
  TM_TRY_VOID(out->listen());
  return out;
}

}  // namespace tidemark::yarn_copilot
