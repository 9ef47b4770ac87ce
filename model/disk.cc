#include "model/disk.h"

namespace tidemark::model {

std::string_view to_string(Disk disk) {
  return disk == Disk::kKubelet ? "the kubelet's disk" : "the container runtime's disk";
}

}  // namespace tidemark::model
