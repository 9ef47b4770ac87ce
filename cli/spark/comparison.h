// Plans the comparison of a job's outputs on both sides: two copies of the job that write to places of their own, and a
// Spark job that compares what they wrote (compare_rows.py).
//
// The job declares its outputs by properties:
//   spark.tidemark.outputs           paths, with commas; each occurs in an argument or in a property
//   spark.tidemark.outputFormat      of Spark's reader (default parquet)
//   spark.tidemark.volatileColumns   columns that may differ, with commas
//   spark.tidemark.floatTolerance    largest relative difference of floats (default 0)
//   spark.tidemark.acceptedCauses    causes that are no difference for this job, such as negative-zero
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace tidemark::cli {

struct Comparison {
  std::string name;  // of the job
  Json kubernetes;   // bodies of POST /batches
  Json yarn;
  Json compare;  // its `file` is set once compare_rows.py is uploaded
};

// `tag` makes the places of this comparison unique. kInvalid: the job declares no output, or it would write to its real
// one.
Result<Comparison> plan_comparison(const Json& job, std::string_view tag);

// What the job printed about one output, as lines for the user.
Result<std::string> comparison_lines(std::string_view report);
inline constexpr std::string_view kComparisonLine = "TIDEMARK-COMPARE ";  // its report begins so

std::string_view compare_rows_text();

}  // namespace tidemark::cli
