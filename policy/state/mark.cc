#include "policy/state/mark.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "policy/waterline/form.h"

namespace tidemark::policy::state {
namespace {

using base::cat;
using base::JsonWriter;
using model::Reason;

void write_time(JsonWriter& json, std::string_view name, base::WallTime when) {
  if (when >= kNever) {
    json.member(name, "never");
  } else {
    json.member(name, base::format_rfc3339_micro(when));
  }
}

void write_order(JsonWriter& json, const StateOrder& order) {
  json.begin_object().member("wish", to_string(order.wish));
  if (!order.only.all()) {
    json.key("only").begin_array();
    for (const auto& word : part_words(order.only)) json.value(word);
    json.end_array();
    if (order.rest == Wish::kObserve) json.member("rest", to_string(order.rest));
  }
  json.member("by", order.by).member("why", order.why);
  write_time(json, "since", order.since);
  if (order.wish == Wish::kOff) {
    write_time(json, "drainUntil", order.drain_until);
    if (order.drained) json.member("drained", true);
    if (order.evict) {
      json.member("evict", true).member("graceSeconds", std::chrono::ceil<std::chrono::seconds>(order.grace).count());
    }
  }
  if (order.until) write_time(json, "until", *order.until);
  json.end_object();
}

std::optional<base::WallTime> read_time(waterline::Form& form, std::string_view key) {
  std::string text;
  form.text(key, text);
  if (text.empty()) return std::nullopt;
  if (text == "never") return kNever;
  const auto when = base::parse_rfc3339(text);
  if (!when) form.problem(key, cat("wanted a time like 2026-11-21T10:00:34Z, found ", base::in_quotes(text)));
  return when;
}

void read_text(waterline::Form& form, std::string_view key, std::size_t bytes_max, std::string& out) {
  form.text(key, out);
  if (out.size() > bytes_max) form.problem(key, cat(out.size(), " bytes, at most ", bytes_max));
}

void read_parts(waterline::Form& form, Parts& out) {
  std::vector<std::string> words;
  form.list("only", kClassesNamedMax + 2, [&](const Json& item, const std::string& place) {
    if (item.is_string()) {
      words.push_back(item.as_string());
    } else {
      words.push_back(place);  // not one of the known words
    }
  });
  if (words.empty()) return;
  auto parts = parse_parts(words);
  if (parts) {
    out = std::move(*parts);
  } else {
    form.problem("only", parts.error().message);
  }
}

StateOrder read_order(const Json& item, std::string place, waterline::Problems& problems) {
  waterline::Form form(&item, std::move(place), problems);
  StateOrder order;
  if (const auto wish = form.choice("wish", {"on", "observe", "off"})) {
    order.wish = static_cast<Wish>(*wish);
  } else if (!form.has("wish")) {
    form.missing("wish", "on, observe or off");
  }
  read_parts(form, order.only);
  read_text(form, "by", kByBytesMax, order.by);
  read_text(form, "why", kWhyBytesMax, order.why);
  if (const auto since = read_time(form, "since")) order.since = *since;
  if (order.wish == Wish::kOff) {
    if (const auto drain_until = read_time(form, "drainUntil")) order.drain_until = *drain_until;
    form.boolean("drained", order.drained);
    form.boolean("evict", order.evict);
    std::int64_t grace_s = kEvictGraceDefault / std::chrono::seconds(1);
    form.integer("graceSeconds", grace_s, 1, kEvictGraceMax / std::chrono::seconds(1));
    order.grace = std::chrono::seconds(grace_s);
  }
  order.until = read_time(form, "until");
  if (order.wish != Wish::kOff && !order.only.all()) form.problem("only", "only valid with off");
  if (form.has("rest")) {
    if (order.only.all()) form.problem("rest", "only valid with `only`");
    if (const auto rest = form.choice("rest", {"on", "observe"})) order.rest = static_cast<Wish>(*rest);
  }
  form.finish();
  return order;
}

StateMark read_mark(waterline::Form& form, waterline::Problems& problems) {
  StateMark mark;
  form.integer("generation", mark.generation, 0, std::numeric_limits<std::int64_t>::max());
  form.list("orders", kOrdersMax, [&](const Json& item, std::string place) {
    mark.orders.push_back(read_order(item, std::move(place), problems));
  });
  for (std::size_t i = 0; i + 1 < mark.orders.size(); ++i) {
    if (!mark.orders[i].until) form.problem("orders", cat("number ", i + 1, " has no end, and others follow"));
  }
  return mark;
}

std::unexpected<Error> refused(waterline::Problems& problems) {
  const auto listed = problems.take();
  return fail(ErrorKind::kInvalid, to_string(listed));
}

// An order that stands for the node's label without a detail.
StateOrder adopted(model::NodeState state, std::string_view by, std::string_view why) {
  StateOrder order;
  order.by = by;
  order.why = why;
  switch (state) {
    case model::NodeState::kOn:
      break;
    case model::NodeState::kObserve:
      order.wish = Wish::kObserve;
      break;
    case model::NodeState::kDraining:
      order.wish = Wish::kOff;
      order.drain_until = kNever;
      break;
    case model::NodeState::kOff:
      order.wish = Wish::kOff;
      break;
  }
  return order;
}

NodeMarks of_label(model::NodeState state) {
  NodeMarks marks;
  marks.node = StateMark{0, {adopted(state, "label tidemark.io/state", "")}};
  return marks;
}

// For a text that is unreadable otherwise: the generation must not go back.
std::int64_t generation_of(std::string_view detail) {
  if (detail.size() > kStateDetailBytesMax) return 0;
  const auto value = Json::parse(detail);
  const Json* generation = value ? value->member("generation") : nullptr;
  return generation == nullptr ? 0 : std::max<std::int64_t>(generation->get_int().value_or(0), 0);
}

NodeReading unreadable(std::string problem, std::optional<model::NodeState> label) {
  NodeReading reading;
  const model::NodeState state = std::max(label.value_or(model::NodeState::kDraining), model::NodeState::kDraining);
  reading.marks.node = StateMark{0, {adopted(state, "unreadable mark", base::utf8_prefix(problem, kWhyBytesMax))}};
  reading.trouble = Reason::kStateUnreadable;
  reading.problem = std::move(problem);
  return reading;
}

}  // namespace

void write_mark(JsonWriter& json, const StateMark& mark) {
  json.member("generation", mark.generation);
  json.key("orders").begin_array();
  for (const auto& order : mark.orders) write_order(json, order);
  json.end_array();
}

Result<StateMark> read_mark(const Json& value, std::string_view place, bool named) {
  waterline::Problems problems;
  waterline::Form form(&value, std::string(place), problems);
  if (named) form.member("name");
  StateMark mark = read_mark(form, problems);
  form.finish();
  if (problems.any()) return refused(problems);
  return mark;
}

Result<MarkText> parse_marks(std::string_view detail) {
  if (detail.size() > kStateDetailBytesMax) {
    return fail(ErrorKind::kInvalid, detail.size(), " bytes, at most ", kStateDetailBytesMax);
  }
  TM_TRY(const Json value, Json::parse(detail));
  if (!value.is_object()) return fail(ErrorKind::kInvalid, "wanted an object");
  const Json* schema = value.member("schema");
  if (schema != nullptr && schema->get_int().value_or(0) > kStateSchema) {
    return fail(ErrorKind::kUnsupported, "written with schema ", schema->as_int(), "; this version reads ",
                kStateSchema);
  }
  waterline::Problems problems;
  waterline::Form form(&value, "", problems);
  MarkText read;
  std::int64_t number = 0;
  form.integer("schema", number, kStateSchema, kStateSchema);
  if (schema == nullptr) form.missing("schema", cat(kStateSchema));
  form.integer("generation", read.marks.generation, 0, std::numeric_limits<std::int64_t>::max());
  std::string state;
  form.text("state", state);
  if (const auto label = model::parse_node_state(state)) {
    read.state = *label;
  } else {
    form.problem("state", cat("wanted on, observe, draining or off, found ", base::in_quotes(state)));
  }
  for (const auto& [key, mark] : {std::pair{"cluster", &read.marks.cluster}, std::pair{"node", &read.marks.node}}) {
    if (const Json* member = form.member(key)) {
      waterline::Form inner(member, key, problems);
      *mark = read_mark(inner, problems);
      inner.finish();
    }
  }
  if (const Json* member = form.member("pool")) {
    waterline::Form inner(member, "pool", problems);
    PoolMark pool;
    inner.text("name", pool.pool);
    if (pool.pool.empty()) inner.missing("name", "the name of the pool");
    pool.mark = read_mark(inner, problems);
    inner.finish();
    read.marks.pool = std::move(pool);
  }
  form.finish();
  if (problems.any()) return refused(problems);
  return read;
}

std::string format_marks(const NodeMarks& marks, model::NodeState label) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("schema", kStateSchema).member("generation", marks.generation);
  json.member("state", to_string(label));
  if (marks.cluster) {
    json.key("cluster").begin_object();
    write_mark(json, *marks.cluster);
    json.end_object();
  }
  if (marks.pool) {
    json.key("pool").begin_object().member("name", marks.pool->pool);
    write_mark(json, marks.pool->mark);
    json.end_object();
  }
  if (marks.node) {
    json.key("node").begin_object();
    write_mark(json, *marks.node);
    json.end_object();
  }
  json.end_object();
  return out;
}

NodeReading read_marks(std::optional<std::string_view> label, std::optional<std::string_view> detail) {
  NodeReading reading;
  if (!label && !detail) return reading;
  const auto state = label ? model::parse_node_state(*label) : std::nullopt;
  if (!detail) {
    if (!state) return unreadable(cat("the label says ", base::in_quotes(*label)), std::nullopt);
    reading.marks = of_label(*state);
    reading.trouble = Reason::kStateByLabel;
    return reading;
  }
  auto read = parse_marks(*detail);
  if (!read) {
    if (read.error().kind == ErrorKind::kUnsupported && state) {
      reading.marks = of_label(*state);
      reading.trouble = Reason::kStateNewer;
    } else {
      reading = unreadable(read.error().message, state);
    }
    reading.marks.generation = generation_of(*detail);
    return reading;
  }
  if (label && !state) {
    reading = unreadable(cat("the label says ", base::in_quotes(*label)), std::nullopt);
    read->marks.node = std::move(reading.marks.node);
    reading.marks = std::move(read->marks);
    return reading;
  }
  reading.marks = std::move(read->marks);
  if (state && *state != read->state) {
    reading.trouble = Reason::kStateDisagrees;
    // The label was set by hand. If it is stricter it counts as an order; otherwise the detail applies.
    if (*state > read->state) reading.marks.node = StateMark{0, {adopted(*state, "label tidemark.io/state", "")}};
  }
  return reading;
}

}  // namespace tidemark::policy::state
