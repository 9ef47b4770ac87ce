// The decoder of NodeSLO (kube/objects.h).
#include "kube/objects.h"
#include "kube/objects_decode.h"

namespace tidemark::kube {

Result<NodeSlo> decode_node_slo(std::string_view bytes, const MetaFields& fields, Interner& interner) {
  Decoder decoder(bytes, interner);
  KindCheck kind(decoder, "NodeSLO");
  NodeSlo slo;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields, slo.meta);
    } else if (key == "spec") {
      std::string_view spec;
      decoder.raw(spec);
      slo.spec = spec;
    } else if (!kind.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(kind.finish(slo.meta));
  return slo;
}

std::size_t NodeSlo::bytes() const {
  return sizeof(NodeSlo) + meta.bytes() + string_bytes(spec);
}

}  // namespace tidemark::kube
