// SPDX-License-Identifier: Apache-2.0
// A schema is refused by name, or means the same when it is written and read again.
#include <cstdlib>

#include "fuzz.hpp"
#include "porter/core/error.hpp"
#include "porter/data/schema.hpp"

std::vector<std::string> fuzz_seeds() {
  return {
      "[label]\nname = \"y\"\nclasses = [\"a\", \"b\"]\n[[column]]\nname = \"x\"\nrange = [0, "
      "1]\nscale = \"range\"\nmissing = 0.5\n",
      "[file]\nseparator = \";\"\ndecimal = \",\"\n[label]\nname = \"y\"\nmean = 1\ndeviation "
      "= 2\n[[column]]\nname = \"c\"\nkind = \"category\"\nvalues = [\"u\", \"v\"]\nunknown = "
      "\"other\"\nmissing = \"value:u\"\n[[column]]\nname = \"d\"\nkind = \"drop\"\n",
      "[[label]]\nname = \"y\"\n[[label]]\nname = \"z\"\nmean = 1\ndeviation = 2\n[weight]\nname = "
      "\"w\"\nmaximum = 4\noutside = \"clamp\"\n[[column]]\nname = \"x\"\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto schema = porter::parse_schema(text, "input");
    const auto again = porter::parse_schema(porter::to_toml(schema), "again");
    if (again.columns != schema.columns || again.labels != schema.labels ||
        again.weight != schema.weight || again.format != schema.format)
      std::abort();
  } catch (const porter::Error&) {
  }
  return 0;
}
