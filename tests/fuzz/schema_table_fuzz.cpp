// SPDX-License-Identifier: Apache-2.0
// Tables as a schema sees them, and the draft of a schema from a table.
#include "data/schema_guess.hpp"
#include "data/table.hpp"
#include "fuzz.hpp"
#include "porter/core/error.hpp"
#include "whole_table.hpp"

namespace {

const porter::Schema& schema() {
  static const auto kSchema = porter::parse_schema(
      "[label]\nname = \"y\"\nclasses = [\"no\", \"yes\"]\n[[column]]\nname = \"a\"\nrange = [0, "
      "9]\noutside = \"clamp\"\nscale = \"range\"\nmissing = \"own\"\n[[column]]\nname = \"c\"\n"
      "kind = \"category\"\nvalues = [\"u\", \"v\"]\nunknown = \"other\"\nmissing = \"own\"\n",
      "schema");
  return kSchema;
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {"a,c,y\n1,u,no\n,w,yes\n", "y;c;a\nno;\"v;\"\"w\"\"\";2,5\nyes;;99\n",
          "\xEF\xBB\xBF"
          "a\tc\ty\r\n3\tu\tyes\r\n\"4\n\"\tv\tno\r\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto broken : {porter::BrokenRows::refuse, porter::BrokenRows::keep}) try {
      porter::TextInput input(text, "input");
      expect_whole(porter::decode_schema_table(input, schema(), broken));
    } catch (const porter::Error&) {
    }
  try {
    porter::TextInput input(text, "input");
    const auto guess = porter::guess_schema(input, {});
    porter::parse_schema(porter::draft_text(guess, "input"), "draft");  // must not be refused
    porter::TextInput again(text, "input");
    expect_whole(porter::decode_schema_table(again, guess.schema, porter::BrokenRows::keep));
  } catch (const porter::Error& error) {
    if (std::string_view(error.what()).starts_with("draft")) std::abort();
  }
  return 0;
}
