#include "cli/top/cluster_screen.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/local/tasks.h"
#include "model/node_state.h"
#include "operate/order_json.h"
#include "policy/explain/finding_form.h"
#include "policy/state/order.h"

namespace tidemark::cli {
namespace {

using base::cat;
using console::NodeRow;
using console::Report;
using operate::OrderScope;
using policy::explain::Severity;

constexpr std::string_view kUnknown = "?";
constexpr std::size_t kLabel = 5;     // columns before a bar
constexpr std::size_t kBarMax = 60;   // of the sums
constexpr std::size_t kNameMin = 12;  // columns of a name
constexpr std::size_t kNameMax = 40;
constexpr std::size_t kWide = 100;  // columns from which pool and bar are shown
constexpr std::size_t kPoolColumn = 12, kRowBar = 12;
constexpr std::size_t kJump = 10;        // rows of Page Up and Page Down
constexpr std::size_t kSumsHeight = 16;  // lines from which the sums are shown
constexpr std::string_view kHelp = R"(Tab, 1 2 3   nodes, pools, problems
Up Down j k  choose; Page Up, Page Down, Home and End too
Enter        open: the nodes of the pool, the whole problem, the node's offer
e            explain the chosen node: every term of its offer
/            filter by a part of the name; Esc removes the filter
:            command: pool NAME, node NAME, nodes, pools, problems, q
o            switch the chosen node or pool off; only with --write
O            switch the whole cluster off; only with --write
Esc          back
q            quit

The values are those of the console. Use is what the agents reported last; ? is unknown. CPU is in cores.
Off stops selling and drains: running offline work may continue for 15 minutes.
`tidemark off` has further options, `tidemark on` starts selling again.)";

std::string cores(std::optional<std::int64_t> milli) {
  return milli ? cores_text(*milli) : std::string(kUnknown);
}
std::string memory(std::optional<std::int64_t> bytes) {
  return bytes ? memory_text(*bytes) : std::string(kUnknown);
}

std::optional<std::int64_t> percent(std::optional<std::int64_t> value, std::int64_t of) {
  if (!value || of <= 0) return std::nullopt;
  return static_cast<std::int64_t>((static_cast<__int128>(*value) * 100 + of / 2) / of);
}
std::string percent_text(std::optional<std::int64_t> value) {
  return value ? cat(*value, "%") : std::string(kUnknown);
}

std::optional<std::int64_t> used(const console::RowAmounts& row) {
  if (!row.online || !row.offline) return std::nullopt;
  return *row.online + *row.offline;
}

bool contains(std::string_view text, std::string_view part) {
  return base::lower(text).find(base::lower(part)) != std::string::npos;
}

// Rows of a list: cells, a name by which the row is chosen, and how it looks.
struct Row {
  std::string name;
  std::vector<std::string> cells;
  Look look = Look::kPlain;
};
struct Cell {
  std::string_view title;
  std::size_t width = 0;  // 0: what is left
  bool number = false;
};
struct List {
  std::vector<Cell> cells;
  std::vector<Row> rows;
  std::string_view none;
};

std::string report_text(const NodeRow& row, base::WallTime now) {
  const std::string age =
      row.reported_s ? age_text(now - base::WallTime{std::chrono::seconds(*row.reported_s)}) : std::string();
  if (row.report == Report::kFresh) return age;
  if (row.report == Report::kStale) return cat("old ", age);
  return std::string(to_string(row.report));
}

bool is_shown(const NodeRow& row, const TopState& state) {
  return (state.pool.empty() || row.pool == state.pool) && (state.filter.empty() || contains(row.name, state.filter));
}

List nodes_list(const ClusterValues& values, const TopState& state, std::size_t width) {
  List list;
  const bool wide = width >= kWide;
  list.cells = {{"NODE"}};
  if (wide) list.cells.push_back({"POOL", kPoolColumn});
  list.cells.push_back({"STATE", 8});
  if (wide) list.cells.push_back({"CPU", kRowBar + 2});
  for (const std::string_view title : {"USE", "ONLINE", "OFFLINE", "OFFER", "SOLD"})
    list.cells.push_back({title, 7, true});
  list.cells.push_back({"TASKS", 5, true});
  list.cells.push_back({"REPORT", 8, true});
  list.none = values.read ? "no node matches" : "the nodes are not read yet";
  for (const NodeRow* row : values.nodes) {
    if (!is_shown(*row, state)) continue;
    Row out{row->name, {row->name}};
    if (wide) out.cells.push_back(row->pool);
    out.cells.emplace_back(to_string(row->state));
    const auto use = used(row->cpu);
    if (wide) {
      const auto line =
          row->cpu.line_percent ? std::optional(row->cpu.capacity / 100 * *row->cpu.line_percent) : std::nullopt;
      out.cells.push_back(
          use ? bar_text({{'o', *row->cpu.online}, {'b', *row->cpu.offline}}, row->cpu.capacity, line, kRowBar)
              : std::string(kUnknown));
    }
    out.cells.push_back(percent_text(percent(use, row->cpu.capacity)));
    out.cells.push_back(cores(row->cpu.online));
    out.cells.push_back(cores(row->cpu.offline));
    out.cells.push_back(cores(row->cpu.offered));
    out.cells.push_back(cores(row->cpu.sold));
    out.cells.push_back(row->tasks ? cat(*row->tasks) : std::string(kUnknown));
    out.cells.push_back(report_text(*row, values.now));
    if (row->report != Report::kFresh) out.look = Look::kWarn;
    list.rows.push_back(std::move(out));
  }
  return list;
}

List pools_list(const ClusterValues& values, const TopState& state) {
  List list;
  list.cells = {{"POOL"}, {"MODE", 8}};
  for (const std::string_view title : {"NODES", "LINE", "USE", "ONLINE", "OFFLINE", "OFFER", "SOLD", "TASKS"}) {
    list.cells.push_back({title, 7, true});
  }
  list.none = "no pool matches";
  for (const TopPool& pool : values.pools) {
    if (!state.filter.empty() && !contains(pool.name, state.filter)) continue;
    const console::Sums& sums = pool.sums;
    const bool known = sums.unknown < sums.nodes;
    const auto of = [&](std::int64_t value) { return known ? std::optional(value) : std::nullopt; };
    list.rows.push_back({pool.name,
                         {pool.name, pool.mode, cat(sums.nodes), percent_text(pool.cpu_line),
                          percent_text(percent(of(sums.cpu.online + sums.cpu.offline), sums.cpu.capacity_known)),
                          cores(of(sums.cpu.online)), cores(of(sums.cpu.offline)), cores(sums.cpu.offered),
                          cores(sums.cpu.sold), sums.tasks ? cat(*sums.tasks) : std::string(kUnknown)},
                         Look::kPlain});
  }
  return list;
}

List problems_list(const ClusterValues& values, const TopState& state) {
  List list;
  list.cells = {{"SEVERITY", 8}, {"NODES", 5, true}, {"WHAT", 18}, {"FOUND"}};
  list.none = values.judged ? "no problem" : "what findings need is not read yet";
  for (std::size_t i = 0; i < values.problems.size(); ++i) {
    const TopProblem& problem = values.problems[i];
    if (!state.filter.empty() && !contains(cat(problem.what, " ", problem.found), state.filter)) continue;
    list.rows.push_back({cat(problem.what, "\n", problem.found),
                         {std::string(to_string(problem.severity)), problem.nodes == 0 ? "" : cat(problem.nodes),
                          problem.what, one_line(problem.found)},
                         problem.severity == Severity::kBad    ? Look::kBad
                         : problem.severity == Severity::kWarn ? Look::kWarn
                                                               : Look::kPlain});
  }
  return list;
}

List list_of(const ClusterValues& values, const TopState& state, TopPage page, std::size_t width) {
  if (page == TopPage::kPools) return pools_list(values, state);
  return page == TopPage::kProblems ? problems_list(values, state) : nodes_list(values, state, width);
}

const std::string& chosen_in(const TopState& state) {
  return state.chosen.at(static_cast<std::size_t>(state.list));
}

std::size_t chosen_row(const List& list, const TopState& state) {
  const auto at = std::ranges::find(list.rows, chosen_in(state), &Row::name);
  return at == list.rows.end() ? 0 : static_cast<std::size_t>(at - list.rows.begin());
}

std::string row_text(const List& list, const std::vector<std::string>& cells, std::size_t width, bool title) {
  std::size_t taken = 0;
  for (const Cell& cell : list.cells) taken += cell.width + 1;
  std::size_t flexible = width > taken + 1 ? width - taken - 1 : kNameMin;
  // A name that needs less leaves the rest to the right end.
  if (list.cells[0].width == 0) {
    std::size_t longest = list.cells[0].title.size();
    for (const Row& row : list.rows) longest = std::max(longest, text_width(row.cells[0]));
    flexible = std::min(flexible, std::clamp(longest, kNameMin, std::max(kNameMin, kNameMax)));
  }
  std::string out = title ? " " : "";
  for (std::size_t i = 0; i < list.cells.size(); ++i) {
    const Cell& cell = list.cells[i];
    const std::size_t columns = cell.width == 0 ? flexible : cell.width;
    const std::string_view text = title ? cell.title : std::string_view(cells[i]);
    out += cat(i == 0 ? "" : " ", cell.number ? right_in(text, columns) : padded_to(text, columns));
  }
  return out;
}

void add_rows(const List& list, std::size_t chosen, std::size_t width, std::size_t room, std::vector<ScreenLine>& out) {
  out.push_back({row_text(list, {}, width, true), Look::kTitle});
  if (list.rows.empty()) {
    out.push_back({cat("  ", list.none)});
    return;
  }
  const std::size_t shown = std::min(list.rows.size(), room > 1 ? room - 1 : 1);
  // The chosen row stays in sight, in the middle if it can.
  const std::size_t top = std::min(chosen > shown / 2 ? chosen - shown / 2 : 0, list.rows.size() - shown);
  for (std::size_t i = top; i < top + shown; ++i) {
    const Row& row = list.rows[i];
    const bool here = i == chosen;
    out.push_back({cat(here ? ">" : " ", row_text(list, row.cells, width, false)), here ? Look::kChosen : row.look});
  }
}

void add_sum(std::string_view label, const console::SumAmounts& sum, bool known,
             std::string (*text)(std::optional<std::int64_t>), std::size_t width, std::vector<ScreenLine>& out) {
  const std::int64_t both = sum.online + sum.offline;
  const std::string total =
      known ? cat(text(both), " of ", text(sum.capacity_known)) : cat("use unknown, of ", text(sum.capacity));
  const std::size_t taken = kLabel + 4 + total.size();
  const std::size_t bar = std::min(width > taken + 10 ? width - taken : std::size_t{10}, kBarMax);
  // The line is that of all nodes; the bar shows those with a report.
  const auto line = sum.line && sum.capacity > 0
                        ? std::optional(static_cast<std::int64_t>(static_cast<__int128>(*sum.line) *
                                                                  sum.capacity_known / sum.capacity))
                        : std::nullopt;
  const std::vector<BarPart> parts =
      known ? std::vector<BarPart>{{'o', sum.online}, {'b', sum.offline}} : std::vector<BarPart>{};
  out.push_back({cat(padded_to(label, kLabel), bar_text(parts, sum.capacity_known, known ? line : std::nullopt, bar),
                     "  ", total)});
  const auto of_known = [&](std::int64_t value) { return text(known ? std::optional(value) : std::nullopt); };
  out.push_back({cat(std::string(kLabel, ' '), "o online ", of_known(sum.online), "  b offline ", of_known(sum.offline),
                     "  ", kLineLetter, " line ", percent_text(percent(sum.line, sum.capacity)), "  offered ",
                     text(sum.offered), "  sold ", text(sum.sold))});
}

std::string states_text(const console::Sums& sums) {
  std::string out;
  for (const auto& [word, count] :
       {std::pair{"on", sums.on}, {"observe", sums.observe}, {"draining", sums.draining}, {"off", sums.off}}) {
    if (count > 0) out += cat(out.empty() ? "" : ", ", count, " ", word);
  }
  if (sums.unknown > 0) out += cat("; ", sums.unknown, " without a fresh report");
  return out;
}

std::string head(const ClusterValues& values) {
  return cat("tidemark  ", one_line(values.cluster), "  ", base::format_rfc3339(values.now), "  ",
             values.writes ? "orders allowed" : "read-only");
}

void add_sums(const ClusterValues& values, std::size_t width, std::vector<ScreenLine>& out) {
  const bool known = values.sums.unknown < values.sums.nodes;
  add_sum("CPU", values.sums.cpu, known, cores, width, out);
  add_sum("MEM", values.sums.memory, known, memory, width, out);
  out.push_back({cat("NODES ", values.sums.nodes, values.sums.nodes == 0 ? "" : ": ", states_text(values.sums), "; ",
                     values.sums.tasks ? cat(*values.sums.tasks) : std::string(kUnknown), " offline tasks")});
}

std::string tabs(const ClusterValues& values, const TopState& state) {
  const auto tab = [&](TopPage page, std::string text) {
    return state.page == page ? cat("[", text, "]") : cat(" ", text, " ");
  };
  std::string out = cat(
      tab(TopPage::kNodes, cat("1 nodes ", values.nodes.size())),
      tab(TopPage::kPools, cat("2 pools ", values.pools.size())),
      tab(TopPage::kProblems, cat("3 problems ", values.judged ? cat(values.problems.size()) : std::string(kUnknown))));
  if (!state.pool.empty()) out += cat("  pool ", state.pool);
  if (!state.filter.empty()) out += cat("  filter ", state.filter);
  return out;
}

// The nodes and pods that an order is about, for the question before it.
std::string concerned(const ClusterValues& values, const TopTarget& target) {
  std::int64_t nodes = 0;
  std::optional<std::int64_t> tasks = 0;
  for (const NodeRow* row : values.nodes) {
    if (target.scope == OrderScope::kPool && row->pool != target.name) continue;
    if (target.scope == OrderScope::kNode && row->name != target.name) continue;
    ++nodes;
    tasks = tasks && row->tasks ? std::optional(*tasks + *row->tasks) : std::nullopt;
  }
  return cat(nodes, nodes == 1 ? " node, " : " nodes, ", tasks ? cat(*tasks) : std::string(kUnknown), " offline tasks");
}

std::string question(const ClusterValues& values, const TopTarget& target) {
  const bool all = target.scope == OrderScope::kCluster;
  return cat("off ", operate::scope_word(target.scope), all ? "" : cat(" ", target.name), " (",
             concerned(values, target), "); type ", all ? target.name : "the name", ": ");
}

std::string footer(const ClusterValues& values, const TopState& state) {
  switch (state.prompt) {
    case TopPrompt::kFilter:
      return cat("/", state.typed, "_");
    case TopPrompt::kCommand:
      return cat(":", state.typed, "_");
    case TopPrompt::kConfirm:
      return cat(question(values, state.off), state.typed, "_");
    case TopPrompt::kReason:
      return cat("reason: ", state.typed, "_");
    case TopPrompt::kNone:
      break;
  }
  if (!state.message.empty()) return one_line(state.message);
  if (state.page == TopPage::kText) return "Up Down scroll  Esc back  q quit";
  return cat("Tab lists  / filter  Enter open  e explain  ", values.writes ? "o off  " : "",
             ": command  ? help  q quit");
}

// The last `width` columns.
std::string end_of(std::string_view text, std::size_t width) {
  while (text_width(text) > width) text.remove_prefix(std::max<std::size_t>(cut_to(text, 2).size(), 1));
  return std::string(text);
}

void go(TopState& state, TopPage list) {
  state.page = state.list = list;
}

// The node or pool that is chosen; nullopt: there is none, or the list is that of problems.
std::optional<TopTarget> target_of(const List& list, const TopState& state) {
  if (state.page == TopPage::kText || state.list == TopPage::kProblems || list.rows.empty()) return std::nullopt;
  return TopTarget{state.list == TopPage::kPools ? OrderScope::kPool : OrderScope::kNode,
                   list.rows[chosen_row(list, state)].name};
}

void choose(TopState& state, const List& list, std::size_t row) {
  if (!list.rows.empty()) {
    state.chosen.at(static_cast<std::size_t>(state.list)) = list.rows[std::min(row, list.rows.size() - 1)].name;
  }
}

void move(TopState& state, const List& list, KeyKind kind) {
  std::size_t at = state.page == TopPage::kText ? state.text_top : chosen_row(list, state);
  const std::size_t last = state.page == TopPage::kText ? state.text.size() : list.rows.size();
  if (kind == KeyKind::kUp) at -= std::min<std::size_t>(at, 1);
  if (kind == KeyKind::kDown) ++at;
  if (kind == KeyKind::kPageUp) at -= std::min(at, kJump);
  if (kind == KeyKind::kPageDown) at += kJump;
  if (kind == KeyKind::kHome) at = 0;
  if (kind == KeyKind::kEnd) at = last;
  if (state.page == TopPage::kText) {
    state.text_top = std::min(at, last == 0 ? 0 : last - 1);
  } else {
    choose(state, list, at);
  }
}

std::string problem_text(const TopProblem& problem) {
  std::string out = cat(to_string(problem.severity), "  ", problem.what, "\n\n", problem.found, "\n");
  if (!problem.fix.empty()) out += cat("\nfix: ", problem.fix, "\n");
  if (problem.nodes > 0) {
    out += cat("\n", problem.nodes, problem.nodes == 1 ? " node: " : " nodes: ", base::join(problem.names, ", "),
               problem.nodes > static_cast<std::int64_t>(problem.names.size()) ? " and more" : "", "\n");
  }
  return out;
}

TopAction open(TopState& state, const ClusterValues& values, const List& list) {
  if (state.page == TopPage::kText || list.rows.empty()) return {};
  const std::string name = list.rows[chosen_row(list, state)].name;
  if (state.list == TopPage::kNodes) return {TopAction::Kind::kExplain, {OrderScope::kNode, name}, {}};
  if (state.list == TopPage::kPools) {
    state.pool = name;
    state.filter.clear();
    go(state, TopPage::kNodes);
    return {};
  }
  const auto problem = std::ranges::find_if(
      values.problems, [&](const TopProblem& each) { return cat(each.what, "\n", each.found) == name; });
  if (problem != values.problems.end()) show_text(state, "problem", problem_text(*problem));
  return {};
}

TopAction explain(TopState& state, const ClusterValues& values, const List& list) {
  const auto target = target_of(list, state);
  if (!target) {
    state.message = "choose a node or a pool";
    return {};
  }
  if (target->scope == OrderScope::kNode) return {TopAction::Kind::kExplain, *target, {}};
  const auto pool = std::ranges::find(values.pools, target->name, &TopPool::name);
  if (pool != values.pools.end()) {
    show_text(state, cat("water line of pool ", pool->name),
              pool->why.empty() ? "unknown: the settings are not read yet" : pool->why);
  }
  return {};
}

TopAction run_command(TopState& state, const ClusterValues& values, std::string_view command) {
  const auto blank = command.find(' ');
  const std::string_view word = command.substr(0, blank);
  const std::string name(blank == std::string_view::npos ? "" : base::trim(command.substr(blank)));
  if (word == "q" || word == "quit") return {TopAction::Kind::kQuit, {}, {}};
  if (word == "nodes") {
    state.pool.clear();
    go(state, TopPage::kNodes);
  } else if (word == "pools") {
    go(state, TopPage::kPools);
  } else if (word == "problems") {
    go(state, TopPage::kProblems);
  } else if (word == "pool" && std::ranges::find(values.pools, name, &TopPool::name) != values.pools.end()) {
    state.pool = name;
    state.filter.clear();
    go(state, TopPage::kNodes);
  } else if (word == "node" && std::ranges::find(values.nodes, name, &NodeRow::name) != values.nodes.end()) {
    return {TopAction::Kind::kExplain, {OrderScope::kNode, name}, {}};
  } else if (word == "pool" || word == "node") {
    state.message = cat("there is no ", word, " ", base::in_quotes(name));
  } else if (!word.empty()) {
    state.message = cat("there is no command ", base::in_quotes(word), "; ? shows all");
  }
  return {};
}

void begin(TopState& state, TopPrompt prompt, std::string typed = {}) {
  state.prompt = prompt;
  state.typed = std::move(typed);
}

TopAction enter(TopState& state, const ClusterValues& values) {
  const TopPrompt prompt = std::exchange(state.prompt, TopPrompt::kNone);
  const std::string typed(base::trim(std::exchange(state.typed, {})));
  if (prompt == TopPrompt::kCommand) return run_command(state, values, typed);
  if (prompt == TopPrompt::kConfirm) {
    if (typed == state.off.name) {
      begin(state, TopPrompt::kReason);
    } else {
      state.message = cat("nothing is ordered: the name is ", state.off.name);
    }
  }
  if (prompt == TopPrompt::kReason) {
    if (!typed.empty()) return {TopAction::Kind::kOff, state.off, typed};
    state.message = "nothing is ordered: an order needs a reason";
  }
  return {};
}

TopAction type(TopState& state, const ClusterValues& values, const Key& key) {
  constexpr std::size_t kTypedMax = policy::state::kWhyBytesMax;  // a reason is the longest
  if (key.kind == KeyKind::kEnter) return enter(state, values);
  if (key.kind == KeyKind::kEscape) {
    if (state.prompt == TopPrompt::kFilter) state.filter.clear();
    begin(state, TopPrompt::kNone);
    return {};
  }
  if (key.kind == KeyKind::kText && state.typed.size() + key.text.size() <= kTypedMax) state.typed += key.text;
  if (key.kind == KeyKind::kBackspace && !state.typed.empty()) {
    do {
      state.typed.pop_back();
    } while (!base::valid_utf8(state.typed));
  }
  if (state.prompt == TopPrompt::kFilter) state.filter = state.typed;
  return {};
}

void ask_off(TopState& state, const ClusterValues& values, std::optional<TopTarget> target) {
  if (!values.writes) {
    state.message = "read-only; start with --write to give orders";
  } else if (!target) {
    state.message = "choose a node or a pool";
  } else {
    state.off = *std::move(target);
    begin(state, TopPrompt::kConfirm);
  }
}

void back(TopState& state) {
  if (state.page == TopPage::kText) {
    go(state, state.list);
  } else if (!state.filter.empty()) {
    state.filter.clear();
  } else if (!state.pool.empty() && state.page == TopPage::kNodes) {
    state.pool.clear();
    go(state, TopPage::kPools);
  }
}

}  // namespace

void show_text(TopState& state, std::string title, std::string_view text) {
  state.page = TopPage::kText;
  state.title = std::move(title);
  state.text.clear();
  for (const std::string_view line : base::split(text, '\n')) state.text.push_back(one_line(line));
  while (!state.text.empty() && state.text.back().empty()) state.text.pop_back();
  state.text_top = 0;
}

TopAction press(TopState& state, const ClusterValues& values, const Key& key) {
  if (state.prompt != TopPrompt::kNone) return type(state, values, key);
  state.message.clear();
  const List list = list_of(values, state, state.list, 0);
  switch (key.kind) {
    case KeyKind::kUp:
    case KeyKind::kDown:
    case KeyKind::kPageUp:
    case KeyKind::kPageDown:
    case KeyKind::kHome:
    case KeyKind::kEnd:
      move(state, list, key.kind);
      return {};
    case KeyKind::kTab:
      go(state, static_cast<TopPage>((static_cast<std::size_t>(state.list) + (state.page == TopPage::kText ? 0 : 1)) %
                                     kTopLists));
      return {};
    case KeyKind::kEscape:
    case KeyKind::kBackspace:
      back(state);
      return {};
    case KeyKind::kEnter:
      return open(state, values, list);
    case KeyKind::kText:
      break;
  }
  const std::string_view typed = key.text;
  if (typed == "q") return {TopAction::Kind::kQuit, {}, {}};
  if (typed == "1") go(state, TopPage::kNodes);
  if (typed == "2") go(state, TopPage::kPools);
  if (typed == "3") go(state, TopPage::kProblems);
  if (typed == "j") move(state, list, KeyKind::kDown);
  if (typed == "k") move(state, list, KeyKind::kUp);
  if (typed == "?") show_text(state, "keys", kHelp);
  if (typed == "/" && state.page != TopPage::kText) begin(state, TopPrompt::kFilter, state.filter);
  if (typed == ":") begin(state, TopPrompt::kCommand);
  if (typed == "o") ask_off(state, values, target_of(list, state));
  if (typed == "O")
    ask_off(state, values, TopTarget{OrderScope::kCluster, std::string(operate::scope_word(OrderScope::kCluster))});
  if (typed == "e") return explain(state, values, list);
  return {};
}

std::vector<ScreenLine> cluster_screen(const ClusterValues& values, const TopState& state, std::size_t width,
                                       std::size_t height) {
  std::vector<ScreenLine> out{{head(values), Look::kTitle}};
  for (const std::string& trouble : values.troubles) out.push_back({cat("! ", trouble), Look::kWarn});
  if (height == 0 || height >= kSumsHeight) add_sums(values, width, out);
  out.push_back({state.page == TopPage::kText ? state.title : tabs(values, state), Look::kTitle});
  const std::size_t room = height == 0               ? std::numeric_limits<std::size_t>::max()
                           : height > out.size() + 1 ? height - out.size() - 1
                                                     : 1;
  if (state.page == TopPage::kText) {
    std::vector<std::string> lines;
    for (std::size_t i = state.text_top; i < state.text.size() && lines.size() < room; ++i) {
      for (auto& line : wrapped(state.text[i], width)) lines.push_back(std::move(line));
    }
    for (std::size_t i = 0; i < lines.size() && i < room; ++i) out.push_back({std::move(lines[i])});
  } else {
    const List list = list_of(values, state, state.list, width);
    add_rows(list, chosen_row(list, state), width, room, out);
  }
  if (height != 0) {
    if (out.size() >= height) out.resize(height - 1);
    while (out.size() + 1 < height) out.emplace_back();
    std::string last = footer(values, state);
    // What is typed stays in sight.
    if (state.prompt != TopPrompt::kNone) last = end_of(last, width);
    out.push_back({std::move(last), state.prompt == TopPrompt::kNone ? Look::kPlain : Look::kTitle});
  }
  for (ScreenLine& line : out) line.text = cut_to(line.text, width);
  return out;
}

std::vector<std::string> cluster_text(const ClusterValues& values, std::size_t width) {
  std::vector<ScreenLine> out{{head(values)}};
  for (const std::string& trouble : values.troubles) out.push_back({cat("! ", trouble)});
  add_sums(values, width, out);
  for (const TopPage page : {TopPage::kPools, TopPage::kProblems, TopPage::kNodes}) {
    const List list = list_of(values, {}, page, width);
    out.emplace_back();
    add_rows(list, list.rows.size(), width, list.rows.size() + 1, out);
  }
  std::vector<std::string> lines;
  for (const ScreenLine& line : out) {
    lines.push_back(cut_to(line.text, width));
    lines.back().erase(lines.back().find_last_not_of(' ') + 1);
  }
  return lines;
}

}  // namespace tidemark::cli
