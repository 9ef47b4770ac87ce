#include "hadoop/site.h"

#include <expat.h>

#include <memory>
#include <utility>

#include "base/text.h"

namespace tidemark::hadoop {
namespace {

// Between the namespace and the name of an element; in no name, since XML does not allow it there.
constexpr char kNamespaceEnd = '\x1f';

std::string_view local_name(const XML_Char* name) {
  const std::string_view whole(name);
  const std::size_t end = whole.rfind(kNamespaceEnd);
  return end == std::string_view::npos ? whole : whole.substr(end + 1);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};

}  // namespace

// Walks one file. Hadoop checks only element names, not their nesting.
class SiteParser {
 public:
  SiteParser(const std::string& path, const ReadFile& read, int depth, int& files)
      : path_(path), read_(read), depth_(depth), files_(files) {}

  Result<std::vector<Site::Parsed>> parse(std::string_view text) {
    const std::unique_ptr<XML_ParserStruct, FreeParser> made(XML_ParserCreateNS(nullptr, kNamespaceEnd));
    if (!made) return fail(ErrorKind::kExhausted, path_, ": no memory for an XML parser");
    parser_ = made.get();
    XML_SetUserData(parser_, this);
    XML_SetElementHandler(
        parser_,
        [](void* self, const XML_Char* name, const XML_Char** attributes) {
          static_cast<SiteParser*>(self)->begin(local_name(name), attributes);
        },
        [](void* self, const XML_Char* name) { static_cast<SiteParser*>(self)->end(local_name(name)); });
    XML_SetCharacterDataHandler(parser_, [](void* self, const XML_Char* bytes, int size) {
      static_cast<SiteParser*>(self)->token_.append(bytes, static_cast<std::size_t>(size));
    });
    const XML_Status status = XML_Parse(parser_, text.data(), static_cast<int>(text.size()), 1);
    if (refusal_) return fail(std::move(*refusal_));
    if (status != XML_STATUS_OK) {
      return fail(ErrorKind::kInvalid, path_, ":", XML_GetCurrentLineNumber(parser_), ": ",
                  XML_ErrorString(XML_GetErrorCode(parser_)));
    }
    return std::move(found_);
  }

 private:
  bool skipping() const { return skipped_from_ > 0; }

  void begin(std::string_view name, const XML_Char** attributes) {
    token_.clear();
    if (name == "property") {
      property_ = {};
      property_.file = path_;
      for (; *attributes != nullptr; attributes += 2) {
        const std::string_view key = local_name(attributes[0]);
        if (key == "name") property_.name = attributes[1];
        if (key == "value") property_.value = attributes[1];
        if (key == "final") property_.final = std::string_view(attributes[1]) == "true";
      }
    } else if (name == "include") {
      std::string href;
      for (; *attributes != nullptr; attributes += 2) {
        if (local_name(attributes[0]) == "href") href = attributes[1];
      }
      if (!skipping()) include(href);
    } else if (name == "fallback") {
      ++fallbacks_;
      if (!skipping() && !missing_) skipped_from_ = fallbacks_;
      missing_.reset();
    }
  }

  void end(std::string_view name) {
    if (name == "name" && !token_.empty()) {
      property_.name = base::trim(token_);
    } else if (name == "value" && !token_.empty()) {
      property_.value = token_;
    } else if (name == "final") {
      property_.final = token_ == "true";
    } else if (name == "fallback") {
      if (skipped_from_ == fallbacks_) skipped_from_ = 0;
      --fallbacks_;
    } else if (name == "include") {
      if (missing_) refuse(std::move(*missing_));
      missing_.reset();
    } else if (name == "property") {
      if (!property_.name.empty() && !skipping()) add(std::move(property_));
      property_ = {};
    }
    token_.clear();
  }

  void add(Site::Parsed property) {
    if (found_.size() == kPropertiesMax) {
      refuse({ErrorKind::kExhausted, base::cat(path_, ": more than ", kPropertiesMax, " properties"), 0, 0});
      return;
    }
    found_.push_back(std::move(property));
  }

  void include(const std::string& href) {
    const std::string place = base::cat(path_, ":", XML_GetCurrentLineNumber(parser_));
    if (href.empty()) {
      refuse({ErrorKind::kInvalid, base::cat(place, ": an include without a href"), 0, 0});
      return;
    }
    std::string_view file = href;
    if (file.starts_with("file://")) file.remove_prefix(7);
    if (file.find("://") != std::string_view::npos) {
      refuse({ErrorKind::kUnsupported, base::cat(place, ": only files are included, found ", base::in_quotes(href)), 0,
              0});
      return;
    }
    if (depth_ == kIncludesMax) {
      refuse({ErrorKind::kInvalid, base::cat(place, ": more than ", kIncludesMax, " includes one in another"), 0, 0});
      return;
    }
    if (++files_ > kFilesMax) {
      refuse({ErrorKind::kInvalid, base::cat(place, ": more than ", kFilesMax, " included files"), 0, 0});
      return;
    }
    const std::string path = file.starts_with('/') ? std::string(file) : base::cat(folder_of(path_), file);
    auto included = Site::parse(path, read_, depth_ + 1, files_);
    if (!included && included.error().kind == ErrorKind::kNotFound) {
      missing_ = std::move(included).error().within(place);
      return;
    }
    if (!included) {
      refuse(std::move(included).error().within(place));
      return;
    }
    for (Site::Parsed& each : *included) add(std::move(each));
  }

  void refuse(Error why) {
    if (!refusal_) refusal_ = std::move(why);
    XML_StopParser(parser_, XML_FALSE);
  }

  const std::string& path_;
  const ReadFile& read_;
  const int depth_;
  int& files_;
  XML_Parser parser_ = nullptr;
  std::string token_;
  Site::Parsed property_;
  std::vector<Site::Parsed> found_;
  std::optional<Error> refusal_;
  std::optional<Error> missing_;  // the file of the include that is open, which a fallback may stand for
  int fallbacks_ = 0;             // one in another
  int skipped_from_ = 0;          // the outermost of them that is not needed
};

Result<std::vector<Site::Parsed>> Site::parse(const std::string& path, const ReadFile& read, int depth, int& files) {
  TM_TRY(const std::string text, read(path, kSiteBytesMax));
  return SiteParser(path, read, depth, files).parse(text);
}

Result<void> Site::add(const std::string& path, const ReadFile& read) {
  int files = 0;
  TM_TRY(std::vector<Parsed> parsed, parse(path, read, 0, files));
  for (Parsed& each : parsed) {
    const auto sealed = final_.find(each.name);
    const bool counts = sealed == final_.end();
    if (counts && each.value) {
      properties_[each.name] = {std::move(*each.value), each.file};
    } else if (!counts && each.value && properties_[each.name].value != *each.value) {
      overruled_.push_back(base::cat(each.file, ": ", each.name, " is final in ", sealed->second));
    }
    if (each.final && counts) final_.emplace(each.name, each.file);
  }
  return {};
}

void Site::set_default(std::string name, std::string value) {
  defaults_[std::move(name)] = std::move(value);
}

const std::string* Site::raw(const std::string& name) const {
  if (const auto found = properties_.find(name); found != properties_.end()) return &found->second.value;
  if (const auto found = defaults_.find(name); found != defaults_.end()) return &found->second;
  return nullptr;
}

std::string Site::place(const std::string& name) const {
  const auto found = properties_.find(name);
  return found == properties_.end() ? "a default" : found->second.file;
}

std::vector<Site::Said> Site::said() const {
  std::vector<Said> out;
  out.reserve(properties_.size());
  for (const auto& [name, property] : properties_) {
    out.push_back({name, property.value, property.file, final_.contains(name)});
  }
  return out;
}

// ${env.NAME}, ${env.NAME-otherwise} if it is not set, ${env.NAME:-otherwise} if it is empty too.
std::optional<std::string> Site::variable(const std::string& name) const {
  if (name.starts_with("env.") && name.size() > 4) {
    const std::string_view rest = std::string_view(name).substr(4);
    const std::size_t dash = rest.find('-');
    const bool empty_too = dash != std::string_view::npos && dash > 0 && rest[dash - 1] == ':';
    const std::string key(rest.substr(0, empty_too ? dash - 1 : dash));
    auto value = environment_ ? environment_(key) : std::nullopt;
    if (dash == std::string_view::npos) return value;
    if (!value || (empty_too && value->empty())) return std::string(rest.substr(dash + 1));
    return value;
  }
  const std::string* found = raw(name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

Result<std::optional<std::string>> Site::text(const std::string& name) const {
  const std::string* found = raw(name);
  if (found == nullptr) return std::optional<std::string>();
  std::string value = *found;
  for (int round = 0;; ++round) {
    // The innermost first: its name ends before another begins, and has no space.
    std::size_t begin = std::string::npos;
    std::size_t end = std::string::npos;
    for (std::size_t at = value.find("${"); at != std::string::npos; at = value.find("${", at + 1)) {
      const std::size_t stop = value.find_first_of("}$ ", at + 2);
      if (stop == std::string::npos || value[stop] != '}' || stop == at + 2) continue;
      begin = at;
      end = stop;
      break;
    }
    if (begin == std::string::npos) break;
    if (round + 1 == kSubstitutionsMax) {
      return fail(ErrorKind::kInvalid, place(name), ": ", name, ": ", kSubstitutionsMax,
                  " variables one after another or more in ", base::in_quotes(*found));
    }
    const std::string variable_name = value.substr(begin + 2, end - begin - 2);
    const auto filled = variable(variable_name);
    if (!filled) break;
    // Refers to itself: left as written, to end the recursion.
    if (filled->find(base::cat("${", variable_name, "}")) != std::string::npos) {
      value = *found;
      break;
    }
    value.replace(begin, end + 1 - begin, *filled);
  }
  return std::optional(std::string(base::trim(value)));
}

Result<bool> Site::boolean(const std::string& name, bool otherwise) const {
  TM_TRY(const auto said, text(name));
  if (!said || said->empty()) return otherwise;
  const std::string lower = base::lower(*said);
  if (lower == "true") return true;
  if (lower == "false") return false;
  return fail(ErrorKind::kInvalid, place(name), ": ", name, " is true or false, found ", base::in_quotes(*said));
}

Result<std::vector<std::string>> Site::list(const std::string& name) const {
  TM_TRY(const auto said, text(name));
  std::vector<std::string> out;
  if (!said) return out;
  for (const std::string_view each : base::split(*said, ',')) {
    if (const std::string_view trimmed = base::trim(each); !trimmed.empty()) out.emplace_back(trimmed);
  }
  return out;
}

}  // namespace tidemark::hadoop
