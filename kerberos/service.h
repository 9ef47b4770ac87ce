// What the program does: answers over one stream (hadoop/kerberos_messages.h), keeps its tickets fresh, and ends when
// the stream does.
//
//   stream ─▶ loop ─▶ wrap, unwrap, later steps      at once, in their order
//              └───▶ worker: logins, first steps      they wait for a KDC and delay no other request
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "hadoop/kerberos_messages.h"
#include "hadoop/rpc_frames.h"
#include "kerberos/context.h"
#include "kerberos/tickets.h"
#include "net/connection.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::kerberos {

inline constexpr std::size_t kContextsMax = 1000;
inline constexpr std::size_t kWaitingMax = 1000;  // for a worker

class Service {
 public:
  Service(net::EventLoop& loop, Fd stream, TicketOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

 private:
  // Result of one check for tickets, on the worker.
  struct Look {
    Result<std::shared_ptr<const Tickets>> tickets;
    bool logged_in = false;  // these are new
  };
  // Lives on the worker: one thread, one job at a time.
  class Keeper;
  struct Begun {
    Look look;
    std::unique_ptr<Context> context;
    Result<Step> step;
  };

  bool on_data(std::string_view bytes);
  Result<void> take(hadoop::HelperRequest request);
  hadoop::HelperAnswer answer_at_once(const hadoop::HelperRequest& request);
  net::Task<void> begin_context(hadoop::HelperRequest request);
  net::Task<void> tell_own_principal(std::uint64_t number);
  net::Task<void> tell_canonical_name(hadoop::HelperRequest request);
  net::Task<void> renew();
  void tell(const hadoop::HelperAnswer& answer);
  void noted(const Look& look);

  net::EventLoop& loop_;
  const TicketOptions options_;
  std::shared_ptr<Keeper> keeper_;
  std::unique_ptr<net::Connection> stream_;
  hadoop::FrameReader frames_;
  std::map<std::uint64_t, std::unique_ptr<Context>> contexts_;  // null: its first step is on the worker
  int failures_ = 0;                                            // logins, in a row
  net::Timer renewal_;
  net::WorkerPool logins_, names_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::kerberos
