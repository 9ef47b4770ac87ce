// Hadoop's configuration files by Hadoop's rules: files in order, the later one counts unless an earlier one said
// `final`; ${variables} of the configuration and ${env.NAME}; XInclude with its fallback.
//
// A file that cannot be read whole adds nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::hadoop {

inline constexpr std::size_t kSiteBytesMax = 4 * 1024 * 1024;
inline constexpr int kIncludesMax = 10;       // one within another
inline constexpr int kFilesMax = 100;         // included by one, all together
inline constexpr int kSubstitutionsMax = 20;  // Hadoop's own bound, for one value
inline constexpr std::size_t kPropertiesMax = 100'000;

// kNotFound if it does not exist.
using ReadFile = std::function<Result<std::string>(const std::string& path, std::size_t bytes_max)>;
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

class Site {
 public:
  explicit Site(Environment environment = {}) : environment_(std::move(environment)) {}

  Result<void> add(const std::string& path, const ReadFile& read);
  // Defaults if no file sets a key, as in the *-default.xml of Hadoop's jars.
  void set_default(std::string name, std::string value);

  // Trimmed, with variables replaced. nullopt if not set. An unknown variable stays as written.
  Result<std::optional<std::string>> text(const std::string& name) const;
  Result<bool> boolean(const std::string& name, bool otherwise) const;
  Result<std::vector<std::string>> list(const std::string& name) const;  // at commas, trimmed, without empty ones

  // The source, for messages: the file, or "a default".
  std::string place(const std::string& name) const;
  // All values of the files by name, unchanged, to write them to another file.
  struct Said {
    std::string name;
    std::string value;
    std::string file;
    bool final = false;
  };
  std::vector<Said> said() const;
  // Settings that were given again after a `final` one, and so not taken: "FILE: NAME is final in FILE".
  const std::vector<std::string>& overruled() const { return overruled_; }

 private:
  struct Property {
    std::string value;
    std::string file;
  };
  struct Parsed {
    std::string name;
    std::optional<std::string> value;
    bool final = false;
    std::string file;
  };
  static Result<std::vector<Parsed>> parse(const std::string& path, const ReadFile& read, int depth, int& files);
  const std::string* raw(const std::string& name) const;
  std::optional<std::string> variable(const std::string& name) const;

  Environment environment_;
  std::map<std::string, std::string> defaults_;
  std::map<std::string, Property> properties_;
  std::map<std::string, std::string> final_;  // name → the file that sets it
  std::vector<std::string> overruled_;

  friend class SiteParser;
};

}  // namespace tidemark::hadoop
