// The metadata of an object that belongs to an attempt of a run, as the watches of the gateway keep it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"

namespace tidemark::gateway {

struct RunObject {
  struct Meta {
    std::string ns;
    std::string name;
    std::string resource_version;
  } meta;
  base::WallTime created;
  std::string uid;
  std::string run;  // label tidemark.io/run
  std::int64_t attempt = 0;
  bool has_finalizer = false;
  bool deleted = false;

  std::size_t heap_bytes() const;  // outside of the object itself
};

// `on_label` reads the value of any other label, and returns false for a label that it does not read.
void read_run_object(base::JsonReader& json, RunObject& out, const std::function<bool(std::string_view)>& on_label);

}  // namespace tidemark::gateway
