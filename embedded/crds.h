// The custom resources that Tidemark speaks (deploy/crds), built into the program.
#pragma once

#include <span>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "kube/client.h"

namespace tidemark::embedded {

struct Manifest {
  std::string_view name;  // the file's name
  std::string_view yaml;
};
std::span<const Manifest> crd_manifests();

// Creates the definitions that are missing and brings those that differ up to date; those that do not are left alone.
net::Task<Result<void>> install_crds(kube::Client& client, base::Log log);

}  // namespace tidemark::embedded
