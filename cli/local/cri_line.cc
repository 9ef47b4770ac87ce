#include "cli/local/cri_line.h"

namespace tidemark::cli {
namespace {

// Up to the next blank, which goes too; nullopt where there is none.
std::optional<std::string_view> word(std::string_view& left) {
  const auto end = left.find(' ');
  if (end == std::string_view::npos) return std::nullopt;
  const auto out = left.substr(0, end);
  left.remove_prefix(end + 1);
  return out;
}

}  // namespace

std::optional<CriLine> parse_cri_line(std::string_view line) {
  const auto time = word(line);
  const auto stream = time ? word(line) : std::nullopt;
  if (!stream || (*stream != "stdout" && *stream != "stderr")) return std::nullopt;
  // An empty line may end right behind its tags.
  const auto tags_end = line.find(' ');
  const auto tags = line.substr(0, tags_end);
  const auto first = tags.substr(0, tags.find(':'));  // of several the first is this one
  if (first != "F" && first != "P") return std::nullopt;
  const auto at = base::parse_rfc3339(*time);
  if (!at) return std::nullopt;
  CriLine out;
  out.time_text = *time;
  out.time = *at;
  out.error = *stream == "stderr";
  out.partial = first == "P";
  if (tags_end != std::string_view::npos) out.text = line.substr(tags_end + 1);
  return out;
}

}  // namespace tidemark::cli
