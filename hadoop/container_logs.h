// Log files of YARN containers over the REST API of their NodeManagers. A NodeManager that no longer has a file sends
// the client on to the log server, if one is set (yarn.log.server.web-service.url). If the NodeManager is gone too, the
// client asks that server itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hadoop/gss.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::hadoop {

// The file as the answer shows it, between a head with LogLength and a line for its end. `asked`: the number of bytes
// that were asked for. nullopt: it is no such answer.
struct ContainerFile {
  std::int64_t length = 0;  // of the whole file
  std::string_view text;    // its first bytes, or its last ones
};
std::optional<ContainerFile> container_file(std::string_view answer, std::int64_t asked);

// The place of a container's logs, from the page that a ResourceManager names for them (amContainerLogs):
// http://NODE/node/containerlogs/CONTAINER/USER
struct ContainerPlace {
  net::Url node;
  std::string container;
};
Result<ContainerPlace> container_place(std::string_view log_page);

class ContainerLogs {
 public:
  // `user` is sent without Kerberos only. `log_server`: value of yarn.log.server.web-service.url; "": there is none.
  ContainerLogs(net::EventLoop& loop, net::WorkerPool* workers, std::string user, MakeGss make_gss,
                std::string log_server = "");

  // The bytes of a file from `from` on, at most about `bytes_max`. kNotFound: neither server has it.
  struct Bytes {
    std::string text;
    bool more = false;
  };
  net::Task<Result<Bytes>> read(std::string log_page, std::string file, std::int64_t from, std::int64_t bytes_max,
                                base::Duration limit);

 private:
  net::Task<Result<Bytes>> read_at(net::Url server, std::string files, std::string file, std::int64_t from,
                                   std::int64_t bytes_max, base::Duration limit);
  net::Task<Result<std::string>> ask(net::Url server, std::string target, base::Duration limit, int redirects);

  net::EventLoop& loop_;
  net::WorkerPool* workers_;
  std::string user_;
  MakeGss make_gss_;
  std::string log_server_;
};

}  // namespace tidemark::hadoop
