// Reading single objects for a command.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "net/task.h"

namespace tidemark::operate {

// What is there of one object; absence is an answer, not an error.
inline net::Task<Result<std::optional<std::string>>> get_if_there(kube::Client& client, kube::Resource resource,
                                                                  std::string ns, std::string name,
                                                                  base::Duration limit) {
  auto bytes = co_await client.get(resource, ns, name, limit);
  if (bytes) co_return std::optional<std::string>(std::move(*bytes));
  if (bytes.error().kind == ErrorKind::kNotFound) co_return std::optional<std::string>();
  co_return std::unexpected(std::move(bytes).error().within(base::cat("reading ", resource.kind, " ", name)));
}

inline net::Task<Result<std::optional<kube::ConfigMap>>> config_map(kube::Client& client, std::string ns,
                                                                    std::string name, base::Duration limit,
                                                                    kube::Interner& interner) {
  TM_CO_TRY(const auto bytes, co_await get_if_there(client, kube::kConfigMaps, ns, name, limit));
  if (!bytes) co_return std::optional<kube::ConfigMap>();
  TM_CO_TRY(auto map, kube::decode_config_map(*bytes, {}, kube::KeyFilter::all(), interner));
  co_return std::optional(std::move(map));
}

// Of an error while something is waited for: trying again may help, the server is away for a while, or has too much to
// do.
inline bool passes(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kExhausted:
    case ErrorKind::kUnavailable:
    case ErrorKind::kDeadline:
    case ErrorKind::kInternal:
      return true;
    default:
      return false;
  }
}

}  // namespace tidemark::operate
