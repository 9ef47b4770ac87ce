// The person in front of a command: who it is, what they are asked, and how something goes on.
#pragma once

#include <string>

namespace tidemark::main {

// Who gives an order, as far as this machine knows.
std::string somebody();

// "QUESTION [y/N]" on standard error; true where the answer begins with y.
bool asked(const std::string& question);

// One line that is written over on a terminal; a line for each change elsewhere.
class ProgressLine {
 public:
  ProgressLine();
  void show(const std::string& text);
  void end();

 private:
  bool terminal_ = false;
  bool open_ = false;
  std::string last_;
};

}  // namespace tidemark::main
