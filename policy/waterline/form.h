// Reads a settings document member by member and collects all problems with their places, so that one pass shows all of
// them. An unknown member is a problem as well; the message names the nearest known one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

namespace tidemark::policy::waterline {

struct Problem {
  std::string place;  // "pools[1] (night).mode"; empty for the document as a whole
  std::string why;
};

// "pools[1] (night).mode: wanted …" one a line.
std::string to_string(const std::vector<Problem>& problems);

class Problems {
 public:
  static constexpr std::size_t kMax = 20;  // further ones are only counted

  void add(std::string place, std::string why);
  bool any() const { return !listed_.empty(); }
  std::vector<Problem> take();  // with a last line that counts those left out

 private:
  std::vector<Problem> listed_;
  std::size_t left_out_ = 0;
};

// One object of the document. A null member counts as absent. Every read leaves `out` unchanged if there is no valid
// value.
class Form {
 public:
  // `value` may be null for a member that is absent. Anything but an object is a problem.
  Form(const Json* value, std::string place, Problems& problems);

  bool has(std::string_view key);
  void text(std::string_view key, std::string& out);
  void boolean(std::string_view key, bool& out);
  void integer(std::string_view key, std::int64_t& out, std::int64_t lowest, std::int64_t highest);
  void integer(std::string_view key, std::optional<std::int64_t>& out, std::int64_t lowest, std::int64_t highest);
  void duration(std::string_view key, base::Duration& out, base::Duration lowest, base::Duration highest);
  // One of `words`; nullopt if there is no valid value.
  std::optional<std::size_t> choice(std::string_view key, std::vector<std::string_view> words);
  const Json* member(std::string_view key);  // nullptr if it is absent
  void list(std::string_view key, std::size_t most,
            const std::function<void(const Json& item, std::string place)>& each);

  void missing(std::string_view key, std::string_view say);
  void problem(std::string_view key, std::string why);
  std::string place(std::string_view key) const;
  void rename(std::string place) { place_ = std::move(place); }

  void finish();  // reports unknown members

 private:
  const Json* known(std::string_view key);

  const base::JsonObject* object_ = nullptr;
  std::string place_;
  Problems& problems_;
  std::vector<std::string> known_;
};

// Of a pool, a class and the like.
Result<void> check_name(std::string_view name);

// The member `name`, checked, for one item of a list; "" if it is invalid. Later places show it: "pools[1] (night)".
// `seen` holds the names of the items before it and their places.
std::string read_name(Form& form, const std::string& place, std::map<std::string, std::string>& seen);

}  // namespace tidemark::policy::waterline
