// The screen of `tidemark top`: nodes, pools and problems of a cluster as lists, and a text page for explanations and
// help. Values and state in, lines out; a key in, the next state and an action out. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/screen.h"
#include "cli/top/cluster_values.h"
#include "operate/order.h"

namespace tidemark::cli {

enum class TopPage : std::uint8_t { kNodes, kPools, kProblems, kText };
inline constexpr std::size_t kTopLists = 3;  // pages before kText

enum class TopPrompt : std::uint8_t { kNone, kFilter, kCommand, kConfirm, kReason };

// What an order of the screen is about.
struct TopTarget {
  operate::OrderScope scope = operate::OrderScope::kNode;
  std::string name;  // of kCluster "cluster"
  bool operator==(const TopTarget&) const = default;
};

struct TopState {
  TopPage page = TopPage::kNodes;
  TopPage list = TopPage::kNodes;             // the list that the text page returns to
  std::string filter;                         // a part of the name; of problems, of the text
  std::string pool;                           // the only one whose nodes are listed; "": all
  std::array<std::string, kTopLists> chosen;  // names; "": the first row
  std::string title;                          // of the text page
  std::vector<std::string> text;
  std::size_t text_top = 0;  // the first line shown
  TopPrompt prompt = TopPrompt::kNone;
  std::string typed;
  TopTarget off;        // what the order is about that the prompts ask for
  std::string message;  // the result of the last key; shown until the next
};

struct TopAction {
  enum class Kind : std::uint8_t { kNone, kQuit, kExplain, kOff };
  Kind kind = Kind::kNone;
  TopTarget target;  // of kExplain a node
  std::string reason;
};

TopAction press(TopState& state, const ClusterValues& values, const Key& key);

void show_text(TopState& state, std::string title, std::string_view text);

// At most `height` lines of `width` columns; height 0: all rows.
std::vector<ScreenLine> cluster_screen(const ClusterValues& values, const TopState& state, std::size_t width,
                                       std::size_t height);
// Sums, pools, problems and nodes below each other, without a state.
std::vector<std::string> cluster_text(const ClusterValues& values, std::size_t width);

}  // namespace tidemark::cli
