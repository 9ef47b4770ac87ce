#include "cli/local/server.h"

#include <cerrno>
#include <utility>

#include "base/text.h"

namespace tidemark::cli {
namespace {

constexpr int kHttpError = 400;  // from here on a code is an answer: something serves

std::string place_of(const LocalServer& server) {
  if (server.kubeconfig.empty()) return base::cat("--data-dir ", server.data_dir);
  return base::cat("--kubeconfig ", server.kubeconfig);
}

}  // namespace

Error no_server(const Error& why, const LocalServer& server) {
  const std::string start =
      server.kubeconfig.empty() ? base::cat(": start it with `tidemark up --data-dir=", server.data_dir, "`") : "";
  Error told = why;
  told.message = base::cat("no `tidemark up` runs with ", place_of(server), start, " (", why.message, ")");
  return told;
}

Error explained(Error error, const LocalServer& server) {
  if (error.kind == ErrorKind::kIo && (error.code == EACCES || error.code == EPERM)) {
    return std::move(error).within(base::cat("what `tidemark up` keeps with ", place_of(server),
                                             " is its owner's alone; run this as them (sudo?)"));
  }
  if (error.kind == ErrorKind::kUnavailable && error.code < kHttpError) return no_server(error, server);
  return error;
}

}  // namespace tidemark::cli
