// The in-memory API server as an HTTP handler. It speaks to net::HttpServer over sockets and to LocalTransport without.
//
// Every authenticated user may do everything: there is no authorization (RBAC objects are stored and not read). Without
// credentials only /version, /healthz, /livez and /readyz answer. What is not done answers 404, 405, 406, 415, 422 with
// its name: server-side apply, protobuf, scale, exec/log/attach/proxy, admission webhooks, CEL rules, conversion
// webhooks.
//
// No controller runs in it but the collector (owner references, namespaces, deleted definitions). Nodes get no
// not-ready taint, because no controller would remove it; services get no address.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "kube/memory/class_of_priority.h"
#include "kube/memory/store.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::kube::memory {

class Registry;

struct StaticToken {
  std::string token;
  std::string user;
};

// One field for each limit of the server.
struct ServerConfig {
  std::vector<StaticToken> tokens;
  bool client_certificates = true;  // a verified client certificate's common name is the user
  std::string data_file;            // SQLite; empty: in memory only
  std::uint64_t seed = 1;           // of uids and generated names
  std::size_t body_bytes_max = 3 * 1024 * 1024;
  // What requests' bodies hold, all together; one that finds no room waits, and then gets 429.
  std::size_t bodies_bytes_max = 256 * 1024 * 1024;
  std::size_t bodies_waiting_max = 1000;
  base::Duration bodies_wait = std::chrono::seconds(5);
  base::Duration bookmark_interval = std::chrono::seconds(60);
  base::Duration watch_timeout = std::chrono::minutes(30);  // where the client names none
  base::Duration write_timeout = std::chrono::seconds(30);  // for a reader that does not read
  // What lists hold while they are sent, all together; a list that finds no room waits, and then gets 429.
  std::size_t lists_bytes_max = 256 * 1024 * 1024;
  std::size_t lists_waiting_max = 1000;
  base::Duration lists_wait = std::chrono::seconds(5);
  std::size_t lists_rate_min = 64 * 1024;  // bytes per second after write_timeout; a slower reader is cut off
  std::vector<std::string> acted_on;       // kinds whose controller runs beside this server: "jobs.batch"
  // Priority classes that exist from the start, beside the server's own, because pods that name one may come at once.
  std::vector<ClassOfPriority> priority_classes;
  StoreConfig store;
};

class Server {
 public:
  // Reads the data file, if one is named (blocks). `workers` is for that file's writes and may be null without one.
  static Result<std::unique_ptr<Server>> open(net::EventLoop& loop, base::Log log, ServerConfig config,
                                              net::WorkerPool* workers);
  ~Server();

  net::HttpHandler handler();
  Store& store();
  Registry& registry();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark::kube::memory
