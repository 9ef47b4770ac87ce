#include "gateway/multipart.h"

#include <utility>

#include "base/text.h"

namespace tidemark::gateway {
namespace {

constexpr std::size_t kBoundaryMax = 70;  // RFC 2046

// The value of a parameter: `name` of `form-data; name="a"; filename=b`. "" without it.
std::string parameter(std::string_view header, std::string_view name) {
  for (std::size_t at = header.find(';'); at != std::string_view::npos;) {
    std::string_view rest = header.substr(at + 1);
    while (rest.starts_with(' ') || rest.starts_with('\t')) rest.remove_prefix(1);
    const auto equals = rest.find('=');
    if (equals == std::string_view::npos) return "";
    const bool wanted = base::lower(base::trim(rest.substr(0, equals))) == name;
    std::string value;
    std::size_t end = equals + 1;
    if (end < rest.size() && rest[end] == '"') {
      for (++end; end < rest.size() && rest[end] != '"'; ++end) {
        if (rest[end] == '\\' && end + 1 < rest.size()) ++end;
        value += rest[end];
      }
      end = rest.find(';', end);
    } else {
      end = rest.find(';', end);
      value = base::trim(rest.substr(equals + 1, end == std::string_view::npos ? end : end - equals - 1));
    }
    if (wanted) return value;
    at = end == std::string_view::npos ? end : static_cast<std::size_t>(rest.data() - header.data()) + end;
  }
  return "";
}

Result<FormPart> part_of_form(std::string_view text) {
  const auto blank = text.find("\r\n\r\n");
  if (blank == std::string_view::npos)
    return fail(ErrorKind::kInvalid, "multipart: a part without the end of its head");
  FormPart out;
  out.bytes = text.substr(blank + 4);
  std::string_view head = text.substr(0, blank);
  while (!head.empty()) {
    const auto end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + 2);
    if (!base::lower(line).starts_with("content-disposition:")) continue;
    out.name = parameter(line, "name");
    out.file = parameter(line, "filename");
  }
  if (out.name.empty()) return fail(ErrorKind::kInvalid, "multipart: a part without a name");
  return out;
}

}  // namespace

Result<std::vector<FormPart>> parse_form(std::string_view content_type, std::string_view body) {
  const std::string boundary = parameter(content_type, "boundary");
  if (boundary.empty() || boundary.size() > kBoundaryMax) {
    return fail(ErrorKind::kInvalid, "multipart: no boundary in content-type ", base::in_quotes(content_type));
  }
  const std::string first = base::cat("--", boundary);
  const std::string next = base::cat("\r\n--", boundary);
  auto at = body.starts_with(first) ? std::size_t{0} : body.find(next);
  if (at == std::string_view::npos) return fail(ErrorKind::kInvalid, "multipart: the boundary is not in the body");
  at += body.starts_with(first) ? first.size() : next.size();
  std::vector<FormPart> out;
  while (!body.substr(at).starts_with("--")) {
    if (!body.substr(at).starts_with("\r\n")) return fail(ErrorKind::kInvalid, "multipart: text behind a boundary");
    const auto end = body.find(next, at);
    if (end == std::string_view::npos) return fail(ErrorKind::kInvalid, "multipart: the last boundary is missing");
    if (out.size() == kFormPartsMax) return fail(ErrorKind::kInvalid, "multipart: more than ", kFormPartsMax, " parts");
    TM_TRY(out.emplace_back(), part_of_form(body.substr(at + 2, end - at - 2)));
    at = end + next.size();
  }
  return out;
}

}  // namespace tidemark::gateway
