#include "gateway/run_object.h"

#include "base/text.h"
#include "gateway/driver_objects.h"
#include "kube/intern.h"
#include "model/names.h"

namespace tidemark::gateway {

std::size_t RunObject::heap_bytes() const {
  std::size_t sum = 0;
  for (const std::string* text : {&meta.ns, &meta.name, &meta.resource_version, &uid, &run}) {
    sum += kube::string_bytes(*text);
  }
  return sum;
}

void read_run_object(base::JsonReader& json, RunObject& out, const std::function<bool(std::string_view)>& on_label) {
  json.object([&](std::string_view key) {
    std::string text;
    if (key == "name") {
      json.string(out.meta.name);
    } else if (key == "namespace") {
      json.string(out.meta.ns);
    } else if (key == "uid") {
      json.string(out.uid);
    } else if (key == "resourceVersion") {
      json.string(out.meta.resource_version);
    } else if (key == "creationTimestamp") {
      json.string(text);
      if (const auto time = base::parse_rfc3339(text)) out.created = *time;
    } else if (key == "deletionTimestamp") {
      json.string(text);
      out.deleted = !text.empty();
    } else if (key == "labels") {
      json.object([&](std::string_view label) {
        if (label == kRunLabel) {
          json.string(out.run);
        } else if (label == kAttemptLabel) {
          json.string(text);
          out.attempt = base::parse_int(text).value_or(0);
        } else if (!on_label(label)) {
          json.skip();
        }
      });
    } else if (key == "finalizers") {
      json.array([&] {
        json.string(text);
        if (text == model::kEndIsReadFinalizer) out.has_finalizer = true;
      });
    } else {
      json.skip();
    }
  });
}

}  // namespace tidemark::gateway
