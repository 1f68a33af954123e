// SPDX-License-Identifier: Apache-2.0
// Tables as a schema sees them, and the draft of a schema from a table.
#include "data/schema_guess.hpp"
#include "data/table.hpp"
#include "fuzz.hpp"
#include "porter/core/error.hpp"
#include "whole_table.hpp"

namespace {

// Two targets and a weight.
const porter::Schema& weighed() {
  static const auto kSchema = porter::parse_schema(
      "[[label]]\nname = \"y\"\n[[label]]\nname = \"a\"\ndeviation = 1e-30\n[weight]\nname = "
      "\"w\"\nmaximum = 3\n[[column]]\nname = \"c\"\nkind = \"category\"\nvalues = [\"u\", "
      "\"v\"]\n",
      "schema");
  return kSchema;
}

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
          "a\tc\ty\r\n3\tu\tyes\r\n\"4\n\"\tv\tno\r\n",
          "y,a,w,c\n1,2.5,3,u\n-4,0,0.5,v\n7,1,9,u\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto broken : {porter::BrokenRows::refuse, porter::BrokenRows::keep})
    for (const auto* one : {&schema(), &weighed()}) try {
        porter::TextInput input(text, "input");
        expect_whole(porter::decode_schema_table(input, *one, broken));
      } catch (const porter::Error&) {
      }
  for (const auto& options :
       {porter::GuessOptions{}, porter::GuessOptions{.labels = {"1", "2"}, .weight = "3"}})
    try {
      porter::TextInput input(text, "input");
      const auto guess = porter::guess_schema(input, options);
      porter::parse_schema(porter::draft_text(guess, "input"), "draft");  // must not be refused
      porter::TextInput again(text, "input");
      expect_whole(porter::decode_schema_table(again, guess.schema, porter::BrokenRows::keep));
    } catch (const porter::Error& error) {
      if (std::string_view(error.what()).starts_with("draft")) std::abort();
    }
  return 0;
}
