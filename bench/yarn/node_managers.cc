#include "node_managers.h"

#include <algorithm>
#include <utility>

#include "amounts.h"
#include "base/text.h"
#include "hadoop/wire.h"

namespace tidemark::bench {
namespace {

using hadoop::WireReader;
using hadoop::WireWriter;

constexpr std::size_t kConnections = 4;
constexpr std::size_t kRegisterAtOnce = 64;
constexpr base::Duration kCallLimit = std::chrono::seconds(30);
constexpr std::string_view kProtocol = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB";
constexpr hadoop::Method kRegister{kProtocol, "registerNodeManager"};
constexpr hadoop::Method kHeartbeat{kProtocol, "nodeHeartbeat"};
constexpr std::string_view kVersion = "3.4.3";
constexpr std::int64_t kHttpPort = 8042;
constexpr std::int64_t kSiteMemoryMib = 4096;  // of yarn-site: no step has it
constexpr std::int64_t kSiteVcores = 2;

// NodeActionProto.
enum Action : std::int64_t { kNormal = 0, kResync = 1, kShutdown = 2 };

void write_id(WireWriter& id, std::size_t nm) {
  id.bytes(1, nm_host(nm)).number(2, kNmPort);
}

// NodeStatusProto of a healthy node without containers.
void write_status(WireWriter& status, std::size_t nm, std::int32_t response_id, base::WallTime now) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.since_epoch).count();
  status.message(1, [&](WireWriter& id) { write_id(id, nm); })
      .number(2, response_id)
      .message(4, [&](WireWriter& health) { health.number(1, 1).bytes(2, "").number(3, ms); });
}

// What both answers have in common, under numbers of their own.
struct Orders {
  std::int64_t action = kNormal;
  std::string diagnostics;
};
Result<void> obeyed(const Orders& orders, std::size_t nm) {
  if (orders.action == kNormal) return {};
  const std::string_view word = orders.action == kResync     ? "to register anew (RESYNC)"
                                : orders.action == kShutdown ? "to stop (SHUTDOWN)"
                                                             : "something that is not known";
  return fail(ErrorKind::kInternal, "the ResourceManager tells NodeManager ", nm_host(nm), ":", kNmPort, " ", word,
              ": ", orders.diagnostics);
}

hadoop::RpcConfig config_of(const hadoop::Address& tracker) {
  hadoop::RpcConfig config;
  config.server = tracker;
  config.protocol = kProtocol;
  config.identity.effective_user = "yarn";
  return config;
}

}  // namespace

NodeManagers::NodeManagers(net::EventLoop& loop, hadoop::Address tracker, std::size_t count, base::Random random,
                           std::function<void(const std::string&)> on_failure)
    : loop_(loop), on_failure_(std::move(on_failure)), nms_(count), scope_(loop) {
  for (std::size_t i = 0; i < kConnections; ++i) {
    clients_.push_back(std::make_unique<hadoop::RpcClient>(loop, nullptr, config_of(tracker), random.fork()));
  }
}

// RegisterNodeManagerRequestProto.
std::string NodeManagers::registration(std::size_t nm) const {
  std::string out;
  WireWriter(out)
      .message(1, [&](WireWriter& id) { write_id(id, nm); })
      .number(3, kHttpPort)
      .message(4, [](WireWriter& total) { total.number(1, kSiteMemoryMib).number(2, kSiteVcores); })
      .bytes(5, kVersion)
      .message(12, [&](WireWriter& status) { write_status(status, nm, 0, loop_.clock().wall()); });
  return out;
}

// NodeHeartbeatRequestProto.
std::string NodeManagers::beat(std::size_t nm) const {
  const Nm& of = nms_[nm];
  std::string out;
  WireWriter(out)
      .message(1, [&](WireWriter& status) { write_status(status, nm, of.response_id, loop_.clock().wall()); })
      .bytes(2, of.container_key)
      .bytes(3, of.nm_key);
  return out;
}

net::Task<Result<void>> NodeManagers::register_one(std::size_t nm) {
  TM_CO_TRY(const std::string response, co_await client_of(nm).call(kRegister, registration(nm), kCallLimit));
  Orders orders;
  Nm& of = nms_[nm];
  WireReader reader(response);
  while (const auto field = reader.next()) {
    if (field->number == 1) of.container_key = field->text();
    if (field->number == 2) of.nm_key = field->text();
    if (field->number == 3) orders.action = field->integer();
    if (field->number == 5) orders.diagnostics = field->text();
  }
  TM_CO_TRY_VOID(reader.finish("RegisterNodeManagerResponseProto"));
  co_return obeyed(orders, nm);
}

net::Task<Result<void>> NodeManagers::register_all() {
  std::size_t next = 0;
  std::size_t open = kRegisterAtOnce;
  Result<void> all;
  net::Event done(loop_);
  const auto some = [&]() -> net::Task<void> {
    while (next < nms_.size() && all) {
      auto one = co_await register_one(next++);
      if (!one && all) all = std::move(one);
    }
    if (--open == 0) done.set();
  };
  {
    net::Scope scope(loop_);
    for (std::size_t i = 0; i < kRegisterAtOnce; ++i) scope.spawn(some());
    co_await done.wait();
  }
  if (!all) co_return all;
  const base::MonotonicTime now = loop_.clock().monotonic();
  for (std::size_t nm = 0; nm < nms_.size(); ++nm) {
    scope_.spawn(live(nm, now + kBeatEvery * static_cast<std::int64_t>(nm) / static_cast<std::int64_t>(nms_.size())));
  }
  co_return all;
}

net::Task<void> NodeManagers::live(std::size_t nm, base::MonotonicTime first) {
  for (base::MonotonicTime due = first;; due = due + kBeatEvery) {
    const base::Duration wait = due - loop_.clock().monotonic();
    if (wait > base::Duration(0)) co_await loop_.sleep(wait);
    const auto response = co_await client_of(nm).call(kHeartbeat, beat(nm), kCallLimit);
    if (!response) {
      on_failure_(base::cat("the heartbeat of ", nm_host(nm), ": ", response.error().message));
      co_return;
    }
    Nm& of = nms_[nm];
    Orders orders;
    WireReader reader(*response);
    while (const auto field = reader.next()) {
      if (field->number == 1) of.response_id = field->integer32();
      if (field->number == 2) of.container_key = field->text();
      if (field->number == 3) of.nm_key = field->text();
      if (field->number == 4) orders.action = field->integer();
      if (field->number == 8) orders.diagnostics = field->text();
    }
    if (const auto whole = reader.finish("NodeHeartbeatResponseProto"); !whole) {
      on_failure_(whole.error().message);
      co_return;
    }
    if (const auto fine = obeyed(orders, nm); !fine) {
      on_failure_(fine.error().message);
      co_return;
    }
    ++beats_answered_;
    if (loop_.clock().monotonic() - due > kBeatEvery) ++beats_late_;
  }
}

}  // namespace tidemark::bench
