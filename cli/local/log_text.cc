#include "cli/local/log_text.h"

#include "base/text.h"
#include "cli/local/cri_line.h"

namespace tidemark::cli {

void LogText::hand_on(LogStream stream, std::string_view text, bool ends) {
  bool& begun = begun_[static_cast<std::size_t>(stream)];
  if (!options_.tail) {
    put_(stream, ends ? base::cat(text, "\n") : std::string(text));
    begun = !ends;
    return;
  }
  Line* line = nullptr;
  for (Line& each : kept_) {
    if (each.open && each.stream == stream) line = &each;
  }
  if (!begun) line = &kept_.emplace_back(Line{stream, {}, true});
  begun = !ends;
  if (line == nullptr) return;  // it began before what is kept
  line->text += text;
  line->open = !ends;
  while (kept_.size() > *options_.tail) kept_.pop_front();
}

void LogText::take(std::string_view line) {
  const auto read = parse_cri_line(line);
  if (!read) {
    if (!line.empty()) hand_on(LogStream::kOut, line, true);
    return;
  }
  if (options_.since && read->time < *options_.since) return;
  const LogStream stream = read->error ? LogStream::kError : LogStream::kOut;
  const bool stamp = options_.timestamps && !begun_[static_cast<std::size_t>(stream)];
  hand_on(stream, stamp ? base::cat(read->time_text, " ", read->text) : std::string(read->text), !read->partial);
}

void LogText::break_off() {
  for (const LogStream stream : {LogStream::kOut, LogStream::kError}) {
    if (begun_[static_cast<std::size_t>(stream)]) hand_on(stream, "", true);
  }
}

void LogText::flush() {
  if (!options_.tail) return;
  options_.tail.reset();
  for (const Line& each : kept_) put_(each.stream, each.open ? each.text : base::cat(each.text, "\n"));
  kept_.clear();
}

}  // namespace tidemark::cli
