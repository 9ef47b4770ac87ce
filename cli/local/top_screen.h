// One screen of `tidemark local top`: use of the machine, sold amounts, limited, waiting and evicted tasks. Values in,
// lines out. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "model/resources.h"

namespace tidemark::cli {

inline constexpr std::size_t kTopRowsMax = 10;  // of one list, where there is room

// One of who uses the machine, with its letter in the bars.
struct TopPart {
  char letter = ' ';
  std::string name;  // "online", "batch", …, "system"
  model::Resources used;
};

// Of one class of offline work: what those have asked for that have their place, of what the node offers now.
struct TopSold {
  model::Resources sold, sellable;
  bool none() const { return sold == model::Resources() && sellable == model::Resources(); }
};

struct TopRow {
  std::string name;
  std::string what;  // "2 cores, 4Gi, 30m0s"
  std::string why;
};

struct TopValues {
  base::WallTime now;
  std::string node;                   // "": there is none
  std::string isolation;              // what its agent does, in a word or a sentence; "": no agent said so
  std::string trouble;                // why some of this is old or missing; "" where nothing is
  std::optional<base::Duration> age;  // of what was measured; nullopt: nothing was
  model::Resources capacity;
  std::vector<TopPart> parts;                                         // in the order of the bars
  std::optional<std::int64_t> line_cpu_percent, line_memory_percent;  // the water line; nullopt: none is drawn
  bool line_cpu_of_sold = false;                                      // what runs may go beyond it
  TopSold batch, mid;                                                 // mid is shown where there is some
  std::optional<std::int64_t> offline_limit_milli;                    // what offline work may use now
  std::vector<TopRow> limited, queue, evicted;
};

// Lines of at most `width` columns, and at most `height` of them; 0: as many as there are.
std::vector<std::string> top_screen(const TopValues& values, std::size_t width, std::size_t height);
// {"schema":1,"node":…,"cpu":{…},"memory":{…},"sold":…,"midSold":…,"limited":[…],"queue":[…],"evicted":[…]}
Json top_json(const TopValues& values);

}  // namespace tidemark::cli
