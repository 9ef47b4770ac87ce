// The processes of Tidemark in a cluster, as the API server shows them: their pods, the leases of leaders, and the
// certificate authorities that the webhooks are trusted by. Each part is read alone: one that cannot be read is an
// error and does not hide the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::operate {

// All pods of one component with the same image.
struct ComponentPods {
  static constexpr std::size_t kNamesMax = 5;
  std::string component;  // "manager", "agent"
  std::string version;    // tag of its image, or the digest; "" if the image has neither
  std::int64_t pods = 0;
  std::int64_t ready = 0;
  std::int64_t restarts = 0;
  std::vector<std::string> not_ready;      // the first kNamesMax
  std::optional<base::WallTime> youngest;  // when the last one of them started
};

struct LeaderLease {
  std::string name;
  std::string holder;  // "" if no process leads
  std::optional<base::WallTime> acquired, renewed;
  std::optional<base::Duration> lasts;  // after the last renewal
  std::int64_t transitions = 0;
  std::string yarn_managers, queues, annotated_by;  // its annotations; "": none
};

struct TrustedAuthority {
  std::string object;                   // "MutatingWebhookConfiguration NAME"
  std::optional<base::WallTime> until;  // nullopt: it has no readable bundle
  std::string problem;                  // why it is unknown
};

struct Components {
  Result<std::vector<ComponentPods>> pods;
  Result<std::vector<LeaderLease>> leases;
  Result<std::vector<TrustedAuthority>> authorities;
};

net::Task<Result<std::vector<LeaderLease>>> read_leases(net::EventLoop& loop, kube::Client& client, std::string ns,
                                                        base::Duration limit);
// Pods and leases of `ns`.
net::Task<Components> read_components(net::EventLoop& loop, kube::Client& client, std::string ns, base::Duration limit);

// "v1.2" of "registry/tidemark:v1.2"; the beginning of a digest.
std::string version_of_image(std::string_view image);

}  // namespace tidemark::operate
