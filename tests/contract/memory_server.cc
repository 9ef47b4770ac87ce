// Only the API server in memory, for the contract suite: `tidemark up` also runs a manager, which writes to nodes and
// would interfere with tests of the server alone.
//
//   memory_server DATA_DIR SEED      serves on a free port until it is killed; prints the path of its kubeconfig
//
// SEED is the source of uids and generated names: use another one at every start on the same data.
#include <cstdio>
#include <string>

#include "base/text.h"
#include "embedded/credentials.h"
#include "kube/memory/server.h"
#include "net/http_server.h"
#include "net/worker.h"

namespace tidemark {
namespace {

constexpr const char* kListen = "127.0.0.1:0";
constexpr int kWorkers = 1;
constexpr std::size_t kWorkerQueueMax = 4096;

Result<void> serve(net::EventLoop& loop, const base::Log& log, const std::string& data_dir, std::uint64_t seed) {
  net::WorkerPool workers(kWorkers, kWorkerQueueMax);
  TM_TRY(const auto credentials, embedded::open_credentials(data_dir, kListen, loop.clock().wall()));
  kube::memory::ServerConfig config;
  config.tokens.push_back({credentials.token, "admin"});
  config.data_file = data_dir + "/objects.sqlite";
  config.seed = seed;
  TM_TRY(const auto api, kube::memory::Server::open(loop, log, std::move(config), &workers));
  net::HttpServerConfig http;
  http.listen = kListen;
  http.tls.emplace();
  http.tls->certificate.text = credentials.server.certificate_pem;
  http.tls->key.text = credentials.server.key_pem;
  http.tls->client_ca.text = credentials.authority.certificate_pem;
  TM_TRY(const auto server, net::HttpServer::listen(loop, log, std::move(http), api->handler()));
  TM_TRY(const std::string kubeconfig, embedded::write_kubeconfig(data_dir, credentials, server->address()));
  std::printf("API server  https://%s\nkubeconfig  %s\n", server->address().c_str(), kubeconfig.c_str());
  std::fflush(stdout);
  loop.run();
  return {};
}

}  // namespace
}  // namespace tidemark

int main(int argc, char** argv) {
  const auto seed = argc == 3 ? tidemark::base::parse_int(argv[2]) : std::nullopt;
  if (!seed) {
    std::fputs("usage: memory_server DATA_DIR SEED\n", stderr);
    return 2;
  }
  const tidemark::base::SystemClock clock;
  tidemark::net::EventLoop loop(clock);
  const tidemark::base::Log log(clock, {});
  if (const auto done = tidemark::serve(loop, log, argv[1], static_cast<std::uint64_t>(*seed)); !done) {
    std::fprintf(stderr, "memory_server: %s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}
