// The user of a command: name, questions, progress.
#pragma once

#include <string>

namespace tidemark::main {

// The name of the user, as far as this machine knows it.
std::string person_name();

// Prints "QUESTION [y/N]" to standard error; true if the answer begins with y.
bool asked(const std::string& question);

// A progress line: overwritten on a terminal, otherwise one line per change.
class ProgressLine {
 public:
  ProgressLine();
  void show(const std::string& text);
  void end();
  bool terminal() const { return terminal_; }

 private:
  bool terminal_ = false;
  bool open_ = false;
  std::string last_;
};

}  // namespace tidemark::main
