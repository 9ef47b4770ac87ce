// How an object, a list or a change goes out: as JSON or YAML, whole, as a row of a Table, or metadata only.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "kube/memory/api_error.h"
#include "kube/memory/kinds.h"
#include "kube/memory/store.h"

namespace tidemark::kube::memory {

struct OutputForm {
  enum class As : std::uint8_t { kWhole, kTable, kPartial } as = As::kWhole;
  bool yaml = false;
  enum class Include : std::uint8_t { kMetadata, kObject, kNone } include = Include::kMetadata;  // of a Table's rows
  bool columns = true;  // a Table says what its cells are
};

// By the Accept header: the first form in it that is served; 406 where none is.
Answer<OutputForm> negotiate(std::string_view accept);

// The object's bytes in the version asked for; shared when that is the stored one.
net::Buffer object_bytes(const Kind& kind, std::string_view version, const Object& object);

std::string render_object(const Kind& kind, std::string_view version, const Object& object, const OutputForm& form,
                          base::WallTime now);

// A list as text, piece by piece: begin(), add() for each object, end(). What it is made of is one Page.
class ListText {
 public:
  ListText(const Kind& kind, std::string_view version, const Store::Page& page, std::string_view continue_token,
           const OutputForm& form, base::WallTime now);
  void begin(std::string& out) const;
  void add(std::string& out, const Object& object);
  void end(std::string& out) const;

 private:
  Json sorted_part(bool before) const;

  const Kind& kind_;
  std::string version_;
  OutputForm form_;
  base::WallTime now_;
  Json envelope_;           // all but the items
  std::string_view items_;  // what they are called
  bool first_ = true;
};

// One line of a watch, made once and kept with the change.
net::Buffer render_change(const Kind& kind, std::string_view version, ChangeType type, const Change& change,
                          const OutputForm& form, base::WallTime now);
// The lines that no change stands behind.
std::string render_initial(const Kind& kind, std::string_view version, const Object& object, const OutputForm& form,
                           base::WallTime now);
std::string render_bookmark(const Kind& kind, std::string_view version, std::int64_t revision, bool initial_end,
                            const OutputForm& form);

}  // namespace tidemark::kube::memory
