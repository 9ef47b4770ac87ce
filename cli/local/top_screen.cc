#include "cli/local/top_screen.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/text.h"
#include "cli/local/tasks.h"
#include "cli/screen.h"

namespace tidemark::cli {
namespace {

using base::cat;

constexpr std::size_t kLabel = 5;   // columns before a bar
constexpr std::size_t kAround = 4;  // its brackets, and two blanks behind it
constexpr std::size_t kBarMin = 10, kBarMax = 60;

std::int64_t share(std::int64_t total, std::int64_t percent) {
  return static_cast<std::int64_t>(static_cast<__int128>(total) * percent / 100);
}

struct Kind {
  std::string_view label;
  std::int64_t (*of)(const model::Resources&);
  std::string (*text)(std::int64_t);
};
constexpr Kind kCpu{"CPU", [](const model::Resources& all) { return all.cpu.value; }, cores_text};
constexpr Kind kMemory{"MEM", [](const model::Resources& all) { return all.memory.value; }, memory_text};

std::int64_t used_of(const TopValues& values, const Kind& kind) {
  model::CpuMilli sum;
  for (const TopPart& part : values.parts) sum += model::CpuMilli{kind.of(part.used)};
  return sum.value;
}

std::string sum_text(const TopValues& values, const Kind& kind) {
  return cat(kind.text(used_of(values, kind)), " of ", kind.text(kind.of(values.capacity)));
}

void add_kind(const TopValues& values, const Kind& kind, std::optional<std::int64_t> percent, std::size_t bar_width,
              std::vector<std::string>& out) {
  const std::int64_t capacity = kind.of(values.capacity);
  std::vector<BarPart> parts;
  std::string legend;
  for (const TopPart& part : values.parts) {
    parts.push_back({part.letter, kind.of(part.used)});
    legend += cat(part.letter, " ", part.name, " ", kind.text(kind.of(part.used)), "  ");
  }
  legend += cat(
      kIdleLetter, " idle ",
      kind.text(std::max<std::int64_t>((model::CpuMilli{capacity} - model::CpuMilli{used_of(values, kind)}).value, 0)));
  const bool of_sold = &kind == &kCpu && values.line_cpu_of_sold;
  if (percent) legend += cat("  ", kLineLetter, of_sold ? " sold up to " : " line ", *percent, " %");
  const auto line = percent ? std::optional(share(capacity, *percent)) : std::nullopt;
  out.push_back(cat(padded_to(std::string(kind.label), kLabel), bar_text(parts, capacity, line, bar_width), "  ",
                    sum_text(values, kind)));
  out.push_back(cat(std::string(kLabel, ' '), legend));
}

void add_bars(const TopValues& values, std::size_t width, std::vector<std::string>& out) {
  const std::size_t text = std::max(sum_text(values, kCpu).size(), sum_text(values, kMemory).size());
  const std::size_t taken = kLabel + kAround + text;
  const std::size_t bar_width = std::clamp(width > taken ? width - taken : 0, kBarMin, kBarMax);
  add_kind(values, kCpu, values.line_cpu_percent, bar_width, out);
  add_kind(values, kMemory, values.line_memory_percent, bar_width, out);
}

struct List {
  std::string_view title;
  std::string_view none;
  const std::vector<TopRow>& rows;
};

void add_list(const List& list, std::size_t rows_max, std::vector<std::string>& out) {
  if (list.rows.empty()) {
    out.push_back(cat(list.title, "  ", list.none));
    return;
  }
  out.push_back(cat(list.title, "  ", list.rows.size()));
  // The last row says how many are not shown.
  const std::size_t shown = list.rows.size() <= rows_max ? list.rows.size() : rows_max - 1;
  std::size_t name_width = 0, what_width = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    name_width = std::max(name_width, text_width(list.rows[i].name));
    what_width = std::max(what_width, text_width(list.rows[i].what));
  }
  for (std::size_t i = 0; i < shown; ++i) {
    const TopRow& row = list.rows[i];
    std::string line = cat("  ", padded_to(row.name, name_width), what_width == 0 ? "" : "  ",
                           padded_to(row.what, what_width), row.why.empty() ? "" : "  ", one_line(row.why));
    line.erase(line.find_last_not_of(' ') + 1);
    out.push_back(std::move(line));
  }
  if (shown < list.rows.size()) out.push_back(cat("  and ", list.rows.size() - shown, " more"));
}

// How many rows each list may have, so that all of it fits: fewer for all, at least one.
std::size_t rows_that_fit(const std::vector<List>& lists, std::size_t room) {
  for (std::size_t rows = kTopRowsMax; rows > 1; --rows) {
    std::size_t lines = 0;
    for (const List& list : lists) lines += list.rows.empty() ? 1 : 1 + std::min(list.rows.size(), rows);
    if (lines <= room) return rows;
  }
  return 1;
}

std::string head(const TopValues& values) {
  if (values.node.empty()) return "tidemark  no node yet";
  const std::string when = base::format_rfc3339(values.now);
  return cat("tidemark  ", values.node, "  ", when, values.isolation.empty() ? "" : "  ", one_line(values.isolation));
}

std::string sold_text(const TopSold& of) {
  return cat(cores_text(of.sold.cpu.value), " of ", cores_text(of.sellable.cpu.value), " cores, ",
             memory_text(of.sold.memory.value), " of ", memory_text(of.sellable.memory.value));
}

Json amounts_json(const model::Resources& amounts) {
  return Json::object({{"cpuMilli", amounts.cpu.value}, {"memoryBytes", amounts.memory.value}});
}

Json rows_json(const std::vector<TopRow>& rows) {
  Json out = Json::array();
  for (const TopRow& row : rows) {
    out.as_array().push_back(Json::object({{"name", row.name}, {"what", row.what}, {"why", row.why}}));
  }
  return out;
}

}  // namespace

std::vector<std::string> top_screen(const TopValues& values, std::size_t width, std::size_t height) {
  std::vector<std::string> out{head(values)};
  if (!values.trouble.empty()) out.push_back(cat("! ", one_line(values.trouble)));
  out.emplace_back();
  if (values.age) {
    add_bars(values, width, out);
  } else {
    out.push_back(cat("nothing was measured yet, of ", cores_text(values.capacity.cpu.value), " cores and ",
                      memory_text(values.capacity.memory.value)));
  }
  const std::string limit =
      values.offline_limit_milli ? cat("; it may use ", cores_text(*values.offline_limit_milli), " cores now") : "";
  out.push_back(cat(padded_to("SOLD", kLabel), sold_text(values.batch), " to batch work", limit));
  if (!values.mid.none()) out.push_back(cat(std::string(kLabel, ' '), sold_text(values.mid), " to mid work"));
  out.emplace_back();
  const std::vector<List> lists{{"LIMITED", "none", values.limited},
                                {"QUEUE", "none waits", values.queue},
                                {"EVICTED", "none lately", values.evicted}};
  const std::size_t room = height == 0           ? std::numeric_limits<std::size_t>::max()
                           : height > out.size() ? height - out.size()
                                                 : 0;
  const std::size_t rows = rows_that_fit(lists, room);
  for (const List& list : lists) add_list(list, rows, out);
  if (height != 0 && out.size() > height) out.resize(height);
  for (std::string& line : out) line = cut_to(line, width);
  return out;
}

Json top_json(const TopValues& values) {
  Json cpu = Json::object({{"capacityMilli", values.capacity.cpu.value}});
  Json memory = Json::object({{"capacityBytes", values.capacity.memory.value}});
  if (values.line_cpu_percent) cpu["linePercent"] = *values.line_cpu_percent;
  if (values.line_cpu_of_sold) cpu["lineOfSold"] = true;
  if (values.line_memory_percent) memory["linePercent"] = *values.line_memory_percent;
  if (values.offline_limit_milli) cpu["offlineLimitMilli"] = *values.offline_limit_milli;
  Json cpu_used = Json::object(), memory_used = Json::object();
  if (values.age) {
    for (const TopPart& part : values.parts) {
      cpu_used[part.name] = part.used.cpu.value;
      memory_used[part.name] = part.used.memory.value;
    }
  }
  cpu["usedMilli"] = std::move(cpu_used);
  memory["usedBytes"] = std::move(memory_used);
  Json out = Json::object({{"schema", 1},
                           {"time", base::format_rfc3339(values.now)},
                           {"node", values.node},
                           {"isolation", values.isolation},
                           {"trouble", values.trouble},
                           {"cpu", std::move(cpu)},
                           {"memory", std::move(memory)},
                           {"sold", amounts_json(values.batch.sold)},
                           {"sellable", amounts_json(values.batch.sellable)},
                           {"midSold", amounts_json(values.mid.sold)},
                           {"midSellable", amounts_json(values.mid.sellable)},
                           {"limited", rows_json(values.limited)},
                           {"queue", rows_json(values.queue)},
                           {"evicted", rows_json(values.evicted)}});
  if (values.age) out["measuredSecondsAgo"] = std::chrono::duration_cast<std::chrono::seconds>(*values.age).count();
  return out;
}

}  // namespace tidemark::cli
