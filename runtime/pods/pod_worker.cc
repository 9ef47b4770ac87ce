#include "runtime/pods/pod_worker.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "journal/whole_file.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/memory.h"
#include "runtime/pods/kept_logs.h"
#include "runtime/pods/pod_logs.h"

namespace tidemark::runtime {
namespace {

constexpr base::Duration kCallLimit = std::chrono::seconds(10);
constexpr base::Duration kRetry = std::chrono::seconds(1);
constexpr base::Duration kRetryMax = std::chrono::seconds(30);
constexpr std::int32_t kKnownQuickEndsMax = 6;  // after so many the pause is the longest
// As a kubelet sets it for pods without requests: by default it alone orders the kernel's OOM kills, because the agent
// only observes oomOrder until an operator enforces it. Online work does not inherit a negative value of `tidemark up`.
constexpr std::int64_t kOfflineOomScoreAdj = 1000, kOnlineOomScoreAdj = 0;
constexpr std::string_view kRefusedReason = "CannotRunHere";
constexpr std::string_view kDeadlineReason = "DeadlineExceeded";
constexpr std::string_view kDeadlineMessage = "Pod was active longer than its activeDeadlineSeconds";

}  // namespace

PodWorker::PodWorker(PodSurroundings& around, std::shared_ptr<const RunPod> pod, std::function<void()> over)
    : around_(around), pod_(std::move(pod)), over_called_(std::move(over)), scope_(around.loop) {
  for (const RunContainer& each : pod_->containers) {
    roles_.push_back({each.name, each.role, each.startup.has_value(), each.readiness.has_value()});
  }
  held_.resize(roles_.size());
  const base::Clock& clock = around_.loop.clock();
  started_ = pod_->started.value_or(clock.wall());
  began_ = clock.monotonic() + -std::max<base::Duration>(clock.wall() - started_, base::Duration(0));
  adopt();
  step_soon();
}

PodWorker::~PodWorker() = default;

std::string PodWorker::name_of_pod() const {
  return base::cat(pod_->ns, "/", pod_->name);
}

std::string PodWorker::logs_of(std::string_view container) const {
  return base::cat(around_.logs.dir, "/", pod_->ns, "_", pod_->name, "_", pod_->uid, container.empty() ? "" : "/",
                   container);
}

ContainerPlace PodWorker::place(std::size_t i) const {
  return {pod_->uid, pod_->containers[i].name, held_[i].attempt};
}

// What a process before this one began. How often a container ended quickly before is not kept: as often as it began.
void PodWorker::adopt() {
  for (const ContainerPlace& each : around_.containers.places()) {
    if (each.pod != pod_->uid) continue;
    const auto found = std::ranges::find(pod_->containers, each.name, &RunContainer::name);
    if (found == pod_->containers.end()) {  // a probe's program: who asked is gone
      around_.containers.drop(each);
      continue;
    }
    Held& held = held_[static_cast<std::size_t>(found - pod_->containers.begin())];
    if (each.attempt <= held.attempt) continue;
    if (held.attempt >= 0) [[maybe_unused]]
      const auto forgotten = around_.containers.forget({each.pod, each.name, held.attempt});
    held.attempt = each.attempt;
    held.run.state = policy::single_node::RunState::kRunning;
    held.run.starts = each.attempt + 1;
    held.run.quick_ends = std::min(each.attempt, kKnownQuickEndsMax);
    held.run.began = around_.loop.clock().monotonic();
    held.told.restarts = each.attempt;
    held.told.id = container_id(pod_->uid, each.name, each.attempt);
  }
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (held_[i].attempt >= 0) continue;
    // Begun before and forgotten: numbers of attempts go on where they were.
    const auto known = pod_->restarts.find(pod_->containers[i].name);
    held_[i].told.restarts = known == pod_->restarts.end() ? 0 : known->second;
  }
}

bool PodWorker::runs() const {
  return std::ranges::any_of(held_,
                             [](const Held& one) { return one.run.state == policy::single_node::RunState::kRunning; });
}

void PodWorker::use(std::shared_ptr<const RunPod> pod) {
  pod_ = std::move(pod);
  step_soon();
}

void PodWorker::lost() {
  lost_ = true;
  step_soon();
}

void PodWorker::look(const ContainerPlace& place) {
  for (Held& held : held_) {
    for (Probe* probe : {held.startup.get(), held.liveness.get(), held.readiness.get()}) {
      if (probe != nullptr) probe->look(place);
    }
  }
  step_soon();
}

void PodWorker::step_soon() {
  if (std::exchange(stepping_, true)) return;
  around_.loop.post([this, here = std::weak_ptr<bool>(here_)] {
    if (here.expired()) return;
    stepping_ = false;
    step();
  });
}

bool PodWorker::past_deadline() const {
  return pod_->active_deadline && around_.loop.clock().monotonic() - began_ >= *pod_->active_deadline;
}

bool PodWorker::ends() const {
  return lost_ || pod_->deleted || past_deadline();
}

void PodWorker::step() {
  if (over_) return;
  // One that was over before this process came, or that another one ended: nothing of it is to run.
  if (pod_->terminal() && std::ranges::all_of(held_, [](const Held& one) { return one.attempt < 0; })) return finish();
  if (!pod_->refused.empty() && !lost_ && !pod_->deleted) return refuse();
  for (std::size_t i = 0; i < held_.size(); ++i) see(i);
  std::vector<policy::single_node::ContainerRun> runs;
  for (const Held& each : held_) runs.push_back(each.run);
  policy::single_node::PodLifeInputs inputs;
  inputs.policy = pod_->restart;
  inputs.containers = roles_;
  inputs.runs = runs;
  inputs.ends = ends();
  if (past_deadline()) inputs.why_ends = kDeadlineReason;
  inputs.grace = lost_ ? base::Duration(0) : pod_->grace;
  policy::single_node::PodLifeStep life = policy::single_node::pod_life(inputs, around_.loop.clock().monotonic());
  for (const policy::single_node::LifeAct& each : life.acts) act(each);
  // Begun is not running yet: its shim may still find that it cannot.
  const bool any_ran =
      std::ranges::any_of(held_, [](const Held& one) { return one.told.running || one.told.ended || one.told.before; });
  if (life.phase == model::PodPhase::kRunning && !any_ran) life.phase = model::PodPhase::kPending;
  show(life);
  std::optional<base::Duration> again = life.again_after;
  if (pod_->active_deadline && !life.over) {
    const base::Duration left = began_ + *pod_->active_deadline - around_.loop.clock().monotonic();
    if (left > base::Duration(0)) again = again ? std::min(*again, left) : left;
  }
  again_.cancel();
  if (again) again_ = around_.loop.after(*again, [this] { step_soon(); });
  if (life.over) finish();
}

// What its newest process came to.
void PodWorker::see(std::size_t i) {
  Held& held = held_[i];
  if (held.attempt < 0) return;
  const ContainerSeen* seen = around_.containers.find(place(i));
  if (seen == nullptr) return;  // it could not be begun, which is noted already, or is forgotten
  if (seen->state != ContainerState::kBeginning && !held.told.running) {
    held.told.running = seen->running;
    const base::WallTime wall = around_.loop.clock().wall();
    const base::Duration ago = std::max<base::Duration>(wall - seen->running.began, base::Duration(0));
    held.run.began = around_.loop.clock().monotonic() + -ago;
    if (seen->state == ContainerState::kRunning) follow_probes(i);
  }
  if (seen->state == ContainerState::kEnded && held.run.state != policy::single_node::RunState::kEnded)
    see_end(i, seen->ended);
}

void PodWorker::see_end(std::size_t i, const ShimEnded& ended) {
  Held& held = held_[i];
  held.startup.reset();
  held.liveness.reset();
  held.readiness.reset();
  const base::MonotonicTime now = around_.loop.clock().monotonic();
  const base::Duration ran = ended.ended - ended.began;
  held.run.state = policy::single_node::RunState::kEnded;
  held.run.ended = now;
  held.run.exit_code = static_cast<std::int32_t>(ended.exit_code);
  held.run.cannot_begin = ended.cannot_begin;
  held.run.quick_ends = ran >= policy::single_node::kRestartForgiven ? 0 : held.run.quick_ends + 1;
  held.run.unwell = false;
  held.run.asked_to_end.reset();
  held.told.ended = ended;
  held.told.out_of_memory = false;
  if (around_.groups == nullptr) return;
  const std::string path = around_.groups->container_path(*pod_, held.told.id);
  if (ended.signal == SIGKILL) {
    linux::Buffer buffer;
    const auto group = linux::Group::open(*around_.hierarchies, path);
    if (group && *group) {
      const auto events = linux::read_memory_events(**group, buffer);
      held.told.out_of_memory = events && *events && (*events)->oom_kill.value_or(0) > 0;
    }
  }
  scope_.spawn(remove_group(held.told.id));
}

// What stays all the same goes with the pod's.
net::Task<void> PodWorker::remove_group(std::string id) {
  const auto removed = co_await around_.groups->remove_container(*pod_, id);
  if (removed) co_return;
  around_.log.warn("the group of a container that ended is there still",
                   {{"pod", name_of_pod()}, {"error", removed.error().message}});
}

void PodWorker::act(const policy::single_node::LifeAct& act) {
  switch (act.what) {
    case policy::single_node::LifeAct::What::kBegin:
      return begin(act.container);
    case policy::single_node::LifeAct::What::kAsk:
      return ask(act.container);
    case policy::single_node::LifeAct::What::kKill:
      break;
  }
  if (around_.containers.kill(place(act.container))) {
    around_.log.info("a container did not end within its grace and is killed",
                     {{"pod", name_of_pod()}, {"container", pod_->containers[act.container].name}});
  }
}

// All of its processes, each once: a second SIGTERM means haste to some.
void PodWorker::ask(std::size_t i) {
  // One whose process does not run yet is asked by the next step, within the grace.
  if (!around_.containers.ask(place(i))) return;
  held_[i].run.asked_to_end = around_.loop.clock().monotonic();
  if (around_.groups == nullptr) return;
  if (const auto asked = around_.groups->ask(*pod_, held_[i].told.id); !asked) {
    around_.log.warn("not all of a container could be asked to end",
                     {{"pod", name_of_pod()}, {"error", asked.error().message}});
  }
}

Result<ShimBegin> PodWorker::how_to_begin(std::size_t i, std::int32_t attempt) {
  const RunContainer& container = pod_->containers[i];
  ShimBegin out;
  out.argv = container.argv;
  out.environment = container.environment;
  out.working_dir = container.working_dir.empty() ? "/" : container.working_dir;
  out.root = pod_->root;
  out.user = container.user;
  out.group = container.group;
  out.oom_score_adj = pod_->offline ? kOfflineOomScoreAdj : kOnlineOomScoreAdj;
  if (around_.groups != nullptr) {
    const bool first = std::ranges::none_of(held_, [](const Held& one) { return one.attempt >= 0; });
    TM_TRY(out.procs,
           around_.groups->make_container(*pod_, container, container_id(pod_->uid, container.name, attempt), first));
    out.shim_procs = around_.groups->shim_processes(pod_->offline);
  }
  const std::string folder = logs_of(container.name);
  TM_TRY_VOID(journal::make_folder(folder));
  if (!pod_->job_uid.empty()) TM_TRY_VOID(mark_logs_of_job(logs_of(""), pod_->job_uid));
  keep_last_logs(folder, around_.logs.before_bytes_max());
  out.log = base::cat(folder, "/", attempt, ".log");
  out.log_bytes_max = around_.logs.bytes_max;
  out.log_files_max = around_.logs.files_max;
  return out;
}

void PodWorker::begin(std::size_t i) {
  if (pod_->terminal()) return;  // another program set a final phase; there is no container to resume
  Held& held = held_[i];
  const bool again = held.attempt >= 0;
  const std::int32_t attempt = again ? held.attempt + 1 : held.told.restarts > 0 ? held.told.restarts + 1 : 0;
  const auto how = how_to_begin(i, attempt);
  const Result<void> begun = how ? around_.containers.begin({pod_->uid, pod_->containers[i].name, attempt}, *how)
                                 : Result<void>(std::unexpected(how.error()));
  if (!begun) return not_made(i, begun.error().message);
  if (again) {
    if (held.told.ended) {
      held.told.before = std::exchange(held.told.ended, std::nullopt);
      held.told.before_id = held.told.id;
    }
    [[maybe_unused]] const auto forgotten = around_.containers.forget(place(i));
  }
  held.attempt = attempt;
  held.told.restarts = attempt;
  held.told.id = container_id(pod_->uid, pod_->containers[i].name, attempt);
  held.told.not_made.clear();
  held.told.running.reset();
  held.told.ended.reset();
  held.run.starts = attempt + 1;
  held.run.began = around_.loop.clock().monotonic();
  held.run.startup_passed = held.run.readiness_passed = held.run.unwell = false;
  held.run.asked_to_end.reset();
  held.run.not_made.reset();
  held.run.cannot_begin.clear();
  held.run.state = policy::single_node::RunState::kRunning;
}

// It is tried again, so the log has it once.
void PodWorker::not_made(std::size_t i, const std::string& why) {
  Held& held = held_[i];
  if (held.told.not_made != why) {
    around_.log.warn("a container cannot be begun yet",
                     {{"pod", name_of_pod()}, {"container", pod_->containers[i].name}, {"error", why}});
  }
  held.told.not_made = why;
  held.run.not_made = around_.loop.clock().monotonic();
  step_soon();
}

std::unique_ptr<Probe> PodWorker::probe(std::size_t i, const std::optional<ProbeSpec>& spec, std::string_view kind,
                                        std::function<void(Held&, bool)> told) {
  if (!spec) return nullptr;
  ShimBegin inside;
  if (spec->how == ProbeSpec::How::kExec) {
    // As the container was begun; its folder says how.
    if (auto how = around_.containers.how(place(i))) inside = *std::move(how);
  }
  return std::make_unique<Probe>(around_.loop, around_.log, around_.containers, *spec, std::move(inside),
                                 ContainerPlace{pod_->uid, base::cat(pod_->containers[i].name, ".", kind), 0},
                                 [this, i, told = std::move(told), here = std::weak_ptr<bool>(here_)](bool good) {
                                   if (here.expired()) return;
                                   told(held_[i], good);
                                   follow_probes(i);
                                   step_soon();
                                 });
}

// Until the startup probe has passed the others wait.
void PodWorker::follow_probes(std::size_t i) {
  Held& held = held_[i];
  const RunContainer& container = pod_->containers[i];
  if (held.run.state != policy::single_node::RunState::kRunning) return;
  if (container.startup && !held.run.startup_passed) {
    if (!held.startup) {
      held.startup = probe(i, container.startup, "startup",
                           [](Held& one, bool good) { (good ? one.run.startup_passed : one.run.unwell) = true; });
    }
    return;
  }
  held.startup.reset();
  if (!held.liveness) {
    held.liveness = probe(i, container.liveness, "liveness", [](Held& one, bool good) { one.run.unwell = !good; });
  }
  if (!held.readiness) {
    held.readiness =
        probe(i, container.readiness, "readiness", [](Held& one, bool good) { one.run.readiness_passed = good; });
  }
}

void PodWorker::show(const policy::single_node::PodLifeStep& life) {
  std::vector<ContainerTold> told;
  for (const Held& each : held_) told.push_back(each.told);
  const bool late = life.over && past_deadline() && life.phase == model::PodPhase::kFailed;
  status_ = pod_status({*pod_, life, told, started_, late ? kDeadlineReason : std::string_view(),
                        late ? kDeadlineMessage : std::string_view()},
                       times_, around_.loop.clock().wall());
  if (lost_ || status_ == written_ || std::exchange(writing_, true)) return;
  scope_.spawn(write());
}

// What cannot run here is over at once, with the place in its specification.
void PodWorker::refuse() {
  policy::single_node::PodLifeStep life;
  life.phase = model::PodPhase::kFailed;
  life.over = true;
  life.containers.resize(held_.size());
  for (policy::single_node::ContainerShown& each : life.containers) each.waits_for = kRefusedReason;
  std::vector<ContainerTold> told(held_.size());
  status_ =
      pod_status({*pod_, life, told, started_, kRefusedReason, pod_->refused}, times_, around_.loop.clock().wall());
  if (status_ == written_ || pod_->terminal() || std::exchange(writing_, true)) return;
  scope_.spawn(write());
}

net::Task<void> PodWorker::write() {
  base::Duration pause = kRetry;
  while (!lost_ && status_ != written_) {
    const std::string status = status_;
    const std::string ns = pod_->ns;
    kube::WriteOptions options;
    options.ns = ns;
    options.subresource = "status";
    std::string body;
    base::JsonWriter out(body);
    out.begin_object().key("metadata").begin_object().member("uid", pod_->uid).end_object();
    out.key("status").raw(status).end_object();
    const auto done = co_await around_.client.patch(kube::kPods, pod_->name, kube::PatchType::kStrategicMerge,
                                                    std::move(body), std::move(options), kCallLimit);
    if (done) {
      written_ = status;
      pause = kRetry;
      continue;
    }
    // Gone, or another pod under its name: the watch reports it.
    if (done.error().kind == ErrorKind::kNotFound || done.error().kind == ErrorKind::kConflict) {
      written_ = status;
      break;
    }
    around_.log.warn("cannot write pod status", {{"pod", name_of_pod()}, {"error", done.error().message}});
    if (done.error().kind == ErrorKind::kInvalid) {  // and never will be: its end does not wait for it
      written_ = status;
      break;
    }
    co_await around_.loop.sleep(pause);
    pause = std::min<base::Duration>(2 * pause, kRetryMax);
  }
  writing_ = false;
  step_soon();
}

// Nothing of it runs any more.
void PodWorker::finish() {
  if (!lost_ && !pod_->deleted) {
    // Its folders go once the server knows how it ended: until then they are all that knows.
    if (!writing_ && (pod_->terminal() || status_ == written_)) [[maybe_unused]]
      const bool cleared = clears_away();
    return;
  }
  // The final status is written before the object goes, because a Job counts it.
  if (!lost_ && status_ != written_) return;
  if (!clears_away()) return;
  if (lost_) {
    over_ = true;
    std::error_code error;
    if (pod_->job_uid.empty()) std::filesystem::remove_all(logs_of(""), error);  // else as kept_logs.h has it
    around_.loop.post([over = over_called_, here = std::weak_ptr<bool>(here_)] {
      if (!here.expired()) over();
    });
    return;
  }
  if (!std::exchange(removing_, true)) scope_.spawn(remove());
}

// True once nothing of it is left here; until then it is on its way, and steps again when it is done.
bool PodWorker::clears_away() {
  if (!std::exchange(clearing_, true)) scope_.spawn(clear_away());
  return cleared_;
}

net::Task<void> PodWorker::clear_away() {
  for (const ContainerPlace& each : around_.containers.places()) {
    if (each.pod == pod_->uid) around_.containers.drop(each);
  }
  base::Duration pause = kRetry;
  while (around_.groups != nullptr) {
    const auto gone = co_await around_.groups->remove_pod(*pod_);
    if (gone) break;
    around_.log.warn("the group of a pod that ended is there still",
                     {{"pod", name_of_pod()}, {"error", gone.error().message}});
    co_await around_.loop.sleep(pause);
    pause = std::min<base::Duration>(2 * pause, kRetryMax);
  }
  cleared_ = true;
  step_soon();
  co_await around_.loop.sleep(around_.logs.whole_for);
  for (const RunContainer& each : pod_->containers) keep_last_logs(logs_of(each.name), around_.logs.ended_bytes_max());
}

net::Task<void> PodWorker::remove() {
  base::Duration pause = kRetry;
  while (!lost_) {
    const std::string ns = pod_->ns;
    kube::WriteOptions options;
    options.ns = ns;
    options.grace_period_s = 0;
    const auto done =
        co_await around_.client.remove(kube::kPods, pod_->name, pod_->uid, std::move(options), kCallLimit);
    // Finalizers may keep it: then its last word comes later.
    if (done || done.error().kind == ErrorKind::kNotFound || done.error().kind == ErrorKind::kConflict) break;
    around_.log.warn("a pod that ended cannot be removed", {{"pod", name_of_pod()}, {"error", done.error().message}});
    co_await around_.loop.sleep(pause);
    pause = std::min<base::Duration>(2 * pause, kRetryMax);
  }
}

}  // namespace tidemark::runtime
