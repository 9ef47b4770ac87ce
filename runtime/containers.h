// The containers of a node, each with its own shim (shim/): starts, follows, signals and forgets them, and adopts those
// of an earlier process. Other code decides about their purpose and restarts.
//
//   STATE/UID/NAME/ATTEMPT/   one folder each (shim/shim_files.h), kept until it is forgotten
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "net/loop.h"
#include "runtime/shim/shim_files.h"

namespace tidemark::runtime {

struct ContainerPlace {
  std::string pod;  // its uid
  std::string name;
  std::int32_t attempt = 0;
  auto operator<=>(const ContainerPlace&) const = default;
};

enum class ContainerState : std::uint8_t { kBeginning, kRunning, kEnded };

struct ContainerSeen {
  ContainerState state = ContainerState::kBeginning;
  ShimRunning running;  // from kRunning on
  ShimEnded ended;      // kEnded
};

struct ContainersOptions {
  std::string state_dir;               // there already
  std::vector<std::string> shim_argv;  // what starts a shim; the folder and the descriptor to close come behind it
  std::string boot;                    // boot ID of the machine; "": unknown
};

class Containers {
 public:
  // `changed` is called on the loop, never from within a call of this.
  Containers(net::EventLoop& loop, base::Log log, ContainersOptions options,
             std::function<void(const ContainerPlace&)> changed);
  Containers(const Containers&) = delete;
  Containers& operator=(const Containers&) = delete;

  // Those that a process before this one began, running or ended. Folders that say nothing are named in the log.
  Result<void> adopt();

  // kAlreadyExists: that attempt was begun before.
  Result<void> begin(const ContainerPlace& place, const ShimBegin& what);
  // It is over with the last of its processes from now on, and not with the first. Those in its process group are asked
  // (SIGTERM) if it has no cgroup of its own; else the caller asks them. kNotFound: it does not run.
  Result<void> ask(const ContainerPlace& place);
  // All of it. kNotFound: it does not run.
  Result<void> kill(const ContainerPlace& place);
  // One that has ended: its folder goes.
  Result<void> forget(const ContainerPlace& place);
  // It is not needed any more: it is killed if it runs, and forgotten once it has ended, without a report.
  void drop(const ContainerPlace& place);

  // The first number that nothing of this name has.
  std::int32_t next_attempt(std::string_view pod, std::string_view name) const;

  // What it was begun by. nullopt: nothing can be read.
  std::optional<ShimBegin> how(const ContainerPlace& place) const;
  const ContainerSeen* find(const ContainerPlace& place) const;  // null: unknown container
  std::vector<ContainerPlace> places() const;

 private:
  struct Held {
    ContainerSeen seen;
    Fd told;  // ends when it runs, or has ended
    Fd shim;  // its process
    net::FdWatch told_watch, shim_watch;
    pid_t child = -1;  // the shim, where it is our own child
    net::Timer again;  // of one that was adopted: until it is known how it stands
    bool doubted = false, dropped = false;
  };
  std::string folder_of(const ContainerPlace& place) const;
  Result<void> start_shim(const ContainerPlace& place, const ShimBegin& what);
  Result<void> remove_folder(const ContainerPlace& place) const;
  Result<Held*> running(const ContainerPlace& place);
  void look_at_adopted(const ContainerPlace& place);
  bool forget_unbegun(const ContainerPlace& place) const;
  void follow(const ContainerPlace& place, Held& held);
  void read(const ContainerPlace& place, Held& held) const;
  void look(const ContainerPlace& place);
  bool ended_with_machine(const ContainerPlace& place) const;
  void give_up(const ContainerPlace& place, Held& held);
  void shim_ended(const ContainerPlace& place);
  void tell(const ContainerPlace& place);
  void post_change(const ContainerPlace& place);
  void end_dropped(const ContainerPlace& place);

  net::EventLoop& loop_;
  base::Log log_;
  ContainersOptions options_;
  std::function<void(const ContainerPlace&)> changed_;
  std::map<ContainerPlace, Held> held_;
  std::shared_ptr<bool> here_ = std::make_shared<bool>(true);  // for what is posted
};

}  // namespace tidemark::runtime
