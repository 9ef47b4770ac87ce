// kube_bench cache: an informer on pods, steered by lines on standard input as bench/peer/kube/main.go tells.
#pragma once

#include <string>

namespace tidemark::bench {

int run_cache(const std::string& kubeconfig);

}  // namespace tidemark::bench
