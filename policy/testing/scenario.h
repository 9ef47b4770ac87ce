// Scenario files: lines that set a stage, lines that ask, and below each question its answers, which begin with ">".
// A file is played from top to bottom; what it answers now must be what it says. TIDEMARK_REWRITE=1 writes the answers
// anew, on purpose: then read the diff.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/testing/source_dir.h"
#include "base/text.h"
#include "model/quantity.h"
#include "model/resources.h"

namespace tidemark::policy::testing {

// The words of one line, taken from the left; "#" begins a comment. What is wrong with a line is thrown as
// std::runtime_error and reported with its file and number.
class Words {
 public:
  explicit Words(std::string_view line);
  bool empty() const { return words_.empty(); }
  std::string next();
  void expect_end() const;

 private:
  std::vector<std::string> words_;  // the next one is the last
};

model::Quantity quantity(std::string_view text);
model::Resources amounts(std::string_view text);  // "32/128Gi"
base::Duration duration(std::string_view text);   // "5m"

// Plays each file of the folder (a path in the source tree). `begin` makes the function that answers the lines of one
// file: nothing for a line that sets the stage, the answers (with their ">") for one that asks.
using AnswerLine = std::function<std::vector<std::string>(std::string_view line)>;
void play_scenarios(std::string_view folder, std::size_t files_min, const std::function<AnswerLine()>& begin);

// ---- how ----

inline Words::Words(std::string_view line) {
  line = line.substr(0, line.find('#'));
  for (const auto word : base::split(line, ' ')) {
    if (!word.empty()) words_.emplace_back(word);
  }
  std::reverse(words_.begin(), words_.end());
}

inline std::string Words::next() {
  if (words_.empty()) throw std::runtime_error("a word is missing at the end of the line");
  auto word = std::move(words_.back());
  words_.pop_back();
  return word;
}

inline void Words::expect_end() const {
  if (!words_.empty()) throw std::runtime_error(base::cat("unexpected word ", words_.back()));
}

inline model::Quantity quantity(std::string_view text) {
  auto parsed = model::Quantity::parse(text);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return *parsed;
}

inline model::Resources amounts(std::string_view text) {
  const auto parts = base::split(text, '/');
  if (parts.size() != 2) throw std::runtime_error(base::cat("wanted CPU/MEMORY, found ", text));
  return {cpu_milli(quantity(parts[0])), memory_bytes(quantity(parts[1]))};
}

inline base::Duration duration(std::string_view text) {
  const auto parsed = base::parse_go_duration(text);
  if (!parsed) throw std::runtime_error(base::cat("wanted a duration, found ", text));
  return *parsed;
}

inline std::string played(const std::string& text, const std::string& name, const AnswerLine& answer) {
  std::string out;
  int number = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with('>')) continue;
    out.append(line).append("\n");
    try {
      for (const auto& each : answer(line)) out.append(each).append("\n");
    } catch (const std::exception& error) {
      ADD_FAILURE() << name << ":" << number << ": " << error.what();
    }
  }
  return out;
}

inline void play_scenarios(std::string_view folder, std::size_t files_min, const std::function<AnswerLine()>& begin) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(base::testing::from_root(folder))) {
    if (!entry.is_regular_file()) continue;
    ++files;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string now = played(text.str(), entry.path().filename(), begin());
    EXPECT_NE(now.find("\n>"), std::string::npos) << entry.path() << " decides nothing";
    if (std::getenv("TIDEMARK_REWRITE") != nullptr) {
      std::ofstream(entry.path()) << now;
    } else {
      EXPECT_EQ(now, text.str()) << entry.path();
    }
  }
  EXPECT_GE(files, files_min);
}

}  // namespace tidemark::policy::testing
