#include "runtime/runtime.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "journal/whole_file.h"
#include "kube/decode.h"
#include "kube/informer.h"
#include "kube/intern.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/make.h"
#include "linux/kernel_files.h"
#include "linux/proc/memory_info.h"
#include "net/admin.h"
#include "net/http_server.h"
#include "runtime/containers.h"
#include "runtime/jobs/job_controller.h"
#include "runtime/node/node_object.h"
#include "runtime/place/binder.h"
#include "runtime/pods/kept_logs.h"
#include "runtime/pods/logs_total.h"
#include "runtime/pods/pod_groups.h"
#include "runtime/pods/pod_worker.h"

namespace tidemark::runtime {
namespace {

constexpr std::size_t kMountsBytesMax = std::size_t{32} << 20;
// An agent takes 2,048 of one node (agent/tasks/pod_tasks.h), or none: some are left for pods that a user binds by
// hand.
constexpr std::int64_t kPodsAtOnceMax = 2'000;
constexpr base::Duration kSweepPause = std::chrono::seconds(1);
constexpr base::Duration kLogsLook = std::chrono::seconds(10);   // what they take together
constexpr base::Duration kClearLimit = std::chrono::seconds(5);  // for groups that are being ended as this one ends
constexpr base::Duration kStrangersPause = std::chrono::seconds(1), kStrangersPauseMax = std::chrono::seconds(30);
constexpr base::Duration kClearLook = std::chrono::milliseconds(20);

// What an informer keeps of a pod.
struct Kept {
  struct Meta {
    std::string ns, name, resource_version;
  };
  Meta meta;
  std::shared_ptr<const RunPod> pod;
  bool understood = true;  // else only the names are there
  std::size_t bytes() const { return sizeof(Kept) + pod->bytes(); }
};

// What a machine lets us do with groups.
struct Groups {
  std::optional<linux::Hierarchies> hierarchies;
  std::optional<linux::Hierarchies> others;  // nothing of ours is in them, but of a copilot that adopts below our group
  std::unique_ptr<PodGroups> pods;           // null: `why_not`
  Fd lock;
  std::string why_not;
};

// The process that owns the cgroups holds a lock on their directory until it ends.
Result<Fd> lock_groups(const linux::Hierarchies& hierarchies, const std::string& group) {
  const std::string path = base::cat(hierarchies.all().front().path, group.starts_with('/') ? "" : "/", group);
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return base::fail_errno(errno, base::cat("open ", path));
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorKind::kAlreadyExists, "the groups below ", path,
                " are another tidemark's that runs: give this one others by --pod-group");
  }
  return folder;
}

// Held where it is made: what makes groups keeps a reference to where they lie.
Result<std::unique_ptr<Groups>> open_groups(net::EventLoop& loop, const RuntimeOptions& options,
                                            linux::KillRim& killing, const model::Resources& allocatable) {
  auto out = std::make_unique<Groups>();
  linux::Buffer buffer(kMountsBytesMax);
  TM_TRY(const auto mounts, linux::read_path(options.proc_root + "/self/mountinfo", buffer));
  auto seen = linux::Hierarchies::discover(options.cgroup_root, mounts.value_or(""));
  if (!seen || seen->all().empty()) {
    out->why_not = seen ? base::cat("no hierarchy is mounted below ", options.cgroup_root) : seen.error().message;
    return out;
  }
  out->hierarchies.emplace(std::move(*seen));
  TM_TRY(out->others, linux::Hierarchies::discover_others(options.cgroup_root, mounts.value_or("")));
  if (const auto made = linux::make_group(*out->hierarchies, options.group); !made) {
    out->why_not = made.error().message;
    return out;
  }
  TM_TRY(out->lock, lock_groups(*out->hierarchies, options.group));  // before a value of another's is written over
  auto pods = std::make_unique<PodGroups>(loop, *out->hierarchies, killing, options.group);
  if (const auto made = pods->make(allocatable); !made) {
    out->why_not = made.error().message;
    out->lock.reset();
    return out;
  }
  out->pods = std::move(pods);
  return out;
}

// Cgroups of unknown pods are emptied and removed, so the root cgroup, where a kubelet may have its own, is refused.
Result<void> check_group(std::string_view group) {
  bool named = false;
  for (const std::string_view part : base::split(group, '/')) {
    if (part == "." || part == "..")
      return fail(ErrorKind::kInvalid, "--pod-group ", base::in_quotes(group), " leads up");
    named = named || !part.empty();
  }
  if (!named) {
    return fail(ErrorKind::kInvalid, "--pod-group ", base::in_quotes(group),
                " is the root: wanted a group of its own, as /tidemark");
  }
  return {};
}

// As an API server takes it. Any other would be refused second by second, while every pod waits for the node.
Result<void> check_node_name(std::string_view name) {
  constexpr std::size_t kNameMax = 253;
  const auto ends_well = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto is_good = [&](std::string_view part) {
    return !part.empty() && ends_well(part.front()) && ends_well(part.back()) &&
           std::ranges::all_of(part, [&](char c) { return ends_well(c) || c == '-'; });
  };
  if (name.size() <= kNameMax && std::ranges::all_of(base::split(name, '.'), is_good)) return {};
  return fail(ErrorKind::kInvalid, "--node-name (the host's name, where it is not given): ", base::in_quotes(name),
              " is no name of a node: wanted parts with dots between them, each of small letters, digits and dashes, ",
              "with no dash at its ends");
}

Result<NodeFacts> facts_of_machine(const RuntimeOptions& options) {
  linux::Buffer buffer;
  TM_TRY(const auto proc, linux::Folder::open(options.proc_root));
  TM_TRY(const auto memory, linux::read_memory_info(proc, buffer));
  NodeFacts out;
  out.name = options.node_name;
  out.pods_max = options.pods_max;
  out.capacity.cpu = {std::max<std::int64_t>(::sysconf(_SC_NPROCESSORS_ONLN), 1) * 1000};
  out.capacity.memory = {memory.total};
  const model::Resources reserved{{options.reserved_cpu_milli}, {options.reserved_memory_mib << 20}};
  out.allocatable = out.capacity - reserved;
  if (out.allocatable.cpu.value <= 0 || out.allocatable.memory.value <= 0) {
    return fail(ErrorKind::kInvalid, "--reserved-cpu and --reserved-memory leave nothing of ",
                out.capacity.cpu.value / 1000, " processors and ", out.capacity.memory.value >> 20, " MiB");
  }
  return out;
}

// Which life of the machine this is.
std::string boot_of(const RuntimeOptions& options) {
  linux::Buffer buffer;
  const auto text = linux::read_path(options.proc_root + "/sys/kernel/random/boot_id", buffer);
  return text && *text ? std::string(base::trim(**text)) : "";
}

// What can fail, done before.
struct Prepared {
  NodeFacts facts;
  std::unique_ptr<Groups> groups;
};

class Running final : public Runtime {
 public:
  Running(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Registry& metrics,
          base::Random random, RuntimeOptions options, Prepared prepared)
      : loop_(loop),
        log_(log.named("runtime")),
        metrics_(metrics),
        options_(std::move(options)),
        groups_(std::move(prepared.groups)),
        interner_(metrics, "runtime"),
        containers_(loop, log_, {options_.data_dir + "/containers", options_.shim_argv, boot_of(options_)},
                    [this](const ContainerPlace& place) { look(place); }),
        around_{
            loop,
            client,
            log_,
            containers_,
            groups_->pods.get(),
            groups_->hierarchies ? &*groups_->hierarchies : nullptr,
            {options_.data_dir + "/logs", options_.log_megabytes << 20, options_.log_files, options_.logs_whole_for}},
        node_(loop, client, log_, std::move(prepared.facts)),
        jobs_(loop, client, log.named("jobs"), metrics, random.fork(), [this] { sweep_soon(); }),
        binder_(loop, client, log, metrics, random.fork(), {options_.node_name}),
        informer_({loop, client, client, log_, metrics, random.fork()}, pods_of_node(),
                  [this](std::string_view bytes) { return keep(bytes); }),
        scope_(loop) {
    informer_.subscribe(
        [this](const kube::ObjectKey&, const Kept* before, const Kept* after) { change(before, after); });
  }

  Result<void> open() {
    TM_TRY_VOID(journal::make_folder(options_.data_dir + "/containers"));
    TM_TRY_VOID(containers_.adopt());
    net::HttpServerConfig http;
    http.listen = "unix:" + pods_socket(options_);
    TM_TRY(admin_, net::serve_admin(loop_, log_, options_.metrics_address, metrics_,
                                    [this] { return known_ ? "" : "the pods are not listed yet"; }));
    TM_TRY(server_, net::HttpServer::listen(loop_, log_, std::move(http),
                                            [this](net::HttpExchange& exchange) { return answer(exchange); }));
    return {};
  }

  void start() override {
    if (!groups_->why_not.empty()) {
      log_.warn("pods run without groups of their own: nothing limits them", {{"why", groups_->why_not}});
    }
    scope_.spawn(node_.run());
    scope_.spawn(jobs_.run());
    scope_.spawn(binder_.run());
    scope_.spawn(informer_.run());
    scope_.spawn(end_strangers());
    scope_.spawn(bound_logs());
  }

  net::Task<void> drain() override {
    if (sweep_.armed()) sweep();
    const auto clears = [this] {
      return std::ranges::any_of(workers_, [](auto& each) { return each.second->clears(); });
    };
    const base::MonotonicTime until = loop_.clock().monotonic() + kClearLimit;
    while (clears() && loop_.clock().monotonic() < until) co_await loop_.sleep(kClearLook);
    const bool any_runs = std::ranges::any_of(workers_, [](const auto& each) { return each.second->runs(); });
    if (!any_runs && all_pods_known() && not_understood_.empty() && groups_->pods) {
      auto gone = groups_->pods->remove_all();
      if (gone) gone = linux::remove_group(*groups_->others, options_.group);
      if (!gone) log_.warn("groups are there still", {{"error", gone.error().message}});
    }
    co_return;
  }

 private:
  kube::InformerConfig pods_of_node() const {
    kube::InformerConfig config;
    config.resource = kube::kPods;
    config.name = "runtime_pods";
    config.field_selector = "spec.nodeName=" + options_.node_name;
    config.bytes_max = options_.pods_bytes_max;
    return config;
  }

  // A pod that cannot be parsed is kept by its name, so that its containers do not count as leftovers.
  Result<Kept> keep(std::string_view bytes) {
    auto read = read_pod(bytes, interner_);
    RunPod pod;
    if (read) {
      pod = *std::move(read);
    } else {
      TM_TRY(const kube::Identity identity, kube::read_identity(bytes));
      log_.error("a pod is not understood: what runs of it runs on as it is", {{"error", read.error().message}});
      pod.uid = identity.uid;
      pod.ns = identity.ns;
      pod.name = identity.name;
      pod.resource_version = identity.resource_version;
    }
    return Kept{{pod.ns, pod.name, pod.resource_version}, std::make_shared<const RunPod>(std::move(pod)), bool(read)};
  }

  void change(const Kept* before, const Kept* after) {
    if (before != nullptr && (after == nullptr || after->pod->uid != before->pod->uid)) {
      if (const auto found = workers_.find(before->pod->uid); found != workers_.end()) found->second->lost();
      if (not_understood_.erase(before->pod->uid) != 0) end_what_it_left();
    }
    if (after == nullptr) return;
    if (!after->understood) {
      not_understood_.insert(after->pod->uid);
      return;
    }
    not_understood_.erase(after->pod->uid);
    auto& worker = workers_[after->pod->uid];
    if (worker) return worker->use(after->pod);
    const std::string uid = after->pod->uid;
    worker = std::make_unique<PodWorker>(around_, after->pod, [this, uid] {
      workers_.erase(uid);
      sweep_soon();
    });
  }

  void look(const ContainerPlace& place) {
    if (const auto found = workers_.find(place.pod); found != workers_.end()) return found->second->look(place);
    if (all_pods_known() && !is_known(place.pod)) end_stranger(place);
  }

  bool all_pods_known() const { return known_ && !informer_.core().over_budget(); }
  bool is_known(const std::string& uid) const { return workers_.contains(uid) || not_understood_.contains(uid); }

  net::Task<void> end_strangers() {
    while (!co_await informer_.wait_synced(std::chrono::minutes(1))) {
    }
    known_ = true;
    sweep_soon();
    co_await end_those_left();
  }

  net::Task<void> end_those_left() {
    if (std::exchange(ending_, true)) co_return;
    base::Duration pause = kStrangersPause;
    bool told = false;
    while (true) {
      if (all_pods_known()) {
        more_left_ = false;
        const bool gone = co_await strangers_are_gone();
        if (gone && !more_left_) break;
      } else if (!std::exchange(told, true)) {
        log_.warn("what pods that are no more left running is not ended yet: not all pods of this node are known");
      }
      co_await loop_.sleep(pause);
      pause = std::min<base::Duration>(2 * pause, kStrangersPauseMax);
    }
    ending_ = false;
  }

  // Of a pod that has no worker to do so.
  void end_what_it_left() {
    more_left_ = true;
    if (known_) scope_.spawn(end_those_left());
  }

  // Removes containers and cgroups of pods that the server does not have: pods of an earlier process that were deleted
  // while no process ran. Known pods are checked each time, because new ones start while an old one does not end.
  net::Task<bool> strangers_are_gone() {
    for (const ContainerPlace& place : containers_.places()) {
      if (!is_known(place.pod)) end_stranger(place);
    }
    if (groups_->pods == nullptr) co_return true;
    const auto removed =
        co_await groups_->pods->remove_others([this](const std::string& uid) { return is_known(uid); });
    if (removed && *removed > 0) log_.info("groups of pods that are no more are removed", {{"count", *removed}});
    if (!removed) log_.warn("groups of pods that are no more are there still", {{"error", removed.error().message}});
    co_return removed.has_value();
  }

  void end_stranger(const ContainerPlace& place) {
    if (containers_.find(place)->state != ContainerState::kEnded) {
      log_.info("a container of a pod that is no more is killed", {{"pod", place.pod}, {"container", place.name}});
    }
    containers_.drop(place);
  }

  // Many go together: once for all of them.
  void sweep_soon() {
    if (!sweep_.armed()) sweep_ = loop_.after(kSweepPause, [this] { sweep(); });
  }
  void sweep() {
    // The pods of the server are not known yet: no log may be removed.
    if (!all_pods_known() || !jobs_.all_known()) return sweep_soon();
    const auto done = sweep_logs(around_.logs.dir, {[this](const std::string& uid) { return is_known(uid); },
                                                    [this](const std::string& uid) { return jobs_.knows(uid); }});
    if (!done) log_.warn("cannot remove logs of gone pods", {{"error", done.error().message}});
  }

  net::Task<void> bound_logs() {
    const auto has_ended = [this](const std::string& uid) {
      const auto found = workers_.find(uid);
      return found == workers_.end() ? !not_understood_.contains(uid) : found->second->pod().terminal();
    };
    while (true) {
      co_await loop_.sleep(kLogsLook);
      if (!all_pods_known()) continue;
      const std::size_t gone = keep_logs_within(around_.logs.dir, options_.logs_total_megabytes << 20, has_ended);
      if (gone > 0) log_.info("the logs together were more than --logs-total: the oldest went", {{"files", gone}});
    }
  }

  // As a kubelet lists its pods, but for those that are over, with the status of this moment: the server's may be a
  // write behind.
  net::Task<void> answer(net::HttpExchange& exchange) {
    if (exchange.head().target != "/pods") {
      exchange.respond(404, "text/plain", "only /pods is here\n");
      co_return;
    }
    if (!known_) {
      exchange.respond(503, "text/plain", "the pods are not known yet\n");
      co_return;
    }
    std::string out = R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":[)";
    bool first = true;
    for (const auto& [uid, worker] : workers_) {
      // What is over uses nothing, and a day's ended Jobs are more pods than an agent takes from one node.
      if (worker->pod().terminal()) continue;
      auto pod = base::Json::parse(worker->pod().object);
      if (!pod || !pod->is_object()) continue;
      if (!worker->status().empty()) {
        if (auto status = base::Json::parse(worker->status())) (*pod)["status"] = *std::move(status);
      }
      if (!std::exchange(first, false)) out += ',';
      pod->append_to(out);
    }
    out += "]}\n";
    exchange.respond(200, "application/json", std::move(out));
    co_return;
  }

  net::EventLoop& loop_;
  base::Log log_;
  base::Registry& metrics_;
  RuntimeOptions options_;
  std::unique_ptr<Groups> groups_;
  kube::Interner interner_;
  Containers containers_;
  PodSurroundings around_;
  NodeObject node_;
  JobController jobs_;
  Binder binder_;
  kube::Informer<Kept> informer_;
  std::map<std::string, std::unique_ptr<PodWorker>> workers_;  // by uid
  std::set<std::string> not_understood_;                       // uids of pods
  bool known_ = false;                                         // what the server has
  bool ending_ = false, more_left_ = false;                    // end_those_left()
  net::Timer sweep_;
  std::unique_ptr<net::HttpServer> server_, admin_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace

Result<void> check_options(const RuntimeOptions& options) {
  TM_TRY_VOID(check_group(options.group));
  TM_TRY_VOID(check_node_name(options.node_name));
  TM_TRY([[maybe_unused]] const auto facts, facts_of_machine(options));
  return {};
}

Result<std::string> why_no_groups(net::EventLoop& loop, const RuntimeOptions& options, linux::KillRim& killing) {
  TM_TRY(const auto facts, facts_of_machine(options));
  TM_TRY(const auto groups, open_groups(loop, options, killing, facts.allocatable));
  return groups->why_not;
}

std::string pods_socket(const RuntimeOptions& options) {
  return options.data_dir + "/pods.sock";
}

void declare_flags(base::Flags& flags, RuntimeOptions& options) {
  flags.group("Pods of this machine");
  flags.text("node-name", options.node_name, "the name of this machine's node; else its host name").placeholder("NAME");
  flags.text("pod-group", options.group, "the group that all pods are put below").placeholder("GROUP");
  flags.integer("reserved-cpu", options.reserved_cpu_milli, 0, 1'000'000, "of the machine's processors, not for pods")
      .placeholder("MILLICORES");
  flags.integer("reserved-memory", options.reserved_memory_mib, 0, 100'000'000, "of its memory, not for pods")
      .placeholder("MIB");
  flags.integer("max-pods", options.pods_max, 1, kPodsAtOnceMax, "so many pods at once");
  flags.integer("log-size", options.log_megabytes, 1, 100'000, "MiB of one file of a container's log")
      .placeholder("MIB");
  flags
      .text("runtime-metrics-addr", options.metrics_address,
            "address of the runtime's /metrics; port 0 picks one, 0 is off")
      .placeholder("HOST:PORT");
  flags.integer("log-files", options.log_files, 1, 1000, "files of a container's log, the newest with them");
  flags
      .integer("logs-total", options.logs_total_megabytes, 1, 1'000'000'000,
               "MiB of all logs together: beyond it those of ended pods go, and then older files of the others")
      .placeholder("MIB");
}

Result<std::unique_ptr<Runtime>> Runtime::make(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                               base::Registry& metrics, base::Random random, linux::KillRim& killing,
                                               RuntimeOptions options) {
  TM_TRY_VOID(check_options(options));
  TM_TRY(auto facts, facts_of_machine(options));
  TM_TRY(auto groups, open_groups(loop, options, killing, facts.allocatable));
  facts.without_groups = groups->why_not;
  auto running = std::make_unique<Running>(loop, client, log, metrics, std::move(random), std::move(options),
                                           Prepared{std::move(facts), std::move(groups)});
  TM_TRY_VOID(running->open());
  return running;
}

}  // namespace tidemark::runtime
