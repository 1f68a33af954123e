// SPDX-License-Identifier: Apache-2.0
#include "data/csv_reader.hpp"

#include <gtest/gtest.h>

#include "data/dialect.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

using Fields = std::vector<std::string>;
using Records = std::vector<Fields>;

// A few bytes at a time, so that records and quotes lie across the pieces.
ReadBytes in_pieces(std::string text, std::size_t size) {
  return [text = std::move(text), size, at = std::size_t{0}](std::span<char> buffer) mutable {
    std::size_t filled = 0;
    while (filled < buffer.size() && at < text.size()) {
      const auto count = std::min({size, buffer.size() - filled, text.size() - at});
      std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at), count,
                  buffer.begin() + static_cast<std::ptrdiff_t>(filled));
      at += count;
      filled += count;
    }
    return filled;
  };
}

Records read_records(const std::string& text, char separator = ',',
                     RecordLines lines = RecordLines::several) {
  CsvReader reader(in_pieces(text, 7), "f", separator, lines);
  Records records;
  while (reader.next()) {
    const auto fields = reader.fields();
    records.emplace_back(fields.begin(), fields.end());
  }
  return records;
}

std::string reader_error(const std::string& text, char separator = ',') {
  try {
    read_records(text, separator);
    return "none";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(CsvReader, ReadsWhatPeopleWrite) {
  EXPECT_EQ(read_records("a,b\n1,2\n"), (Records{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(read_records("a,b\r\n\r\n 1 ,\t2\r\n"), (Records{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(read_records("\xEF\xBB\xBF"
                         "a;b\n",
                         ';'),
            (Records{{"a", "b"}}));
  EXPECT_EQ(read_records("a\t\tb", '\t'), (Records{{"a", "", "b"}}));
  EXPECT_EQ(read_records(",\n,,\n"), (Records{{"", ""}, {"", "", ""}}));
  EXPECT_EQ(read_records(""), Records{});
}

TEST(CsvReader, QuotesHoldSeparatorsLinesAndQuotes) {
  EXPECT_EQ(read_records("\"a,b\",\"say \"\"hi\"\"\"\n1,2\n"),
            (Records{{"a,b", "say \"hi\""}, {"1", "2"}}));
  EXPECT_EQ(read_records("\"two\nlines\",x\r\n\"\", \" kept \" \n"),
            (Records{{"two\nlines", "x"}, {"", " kept "}}));
  EXPECT_EQ(read_records("5\" pipe,3\n"), (Records{{"5\" pipe", "3"}}));
}

TEST(CsvReader, KnowsTheLineOfARecord) {
  CsvReader reader(bytes_of("a\n\n\"b\nb\"\nc\n"), "f", ',');
  for (const std::size_t line : {1U, 3U, 5U}) {
    ASSERT_TRUE(reader.next());
    EXPECT_EQ(reader.line(), line);
  }
  EXPECT_EQ(reader.place(), "f, line 5");
  EXPECT_FALSE(reader.next());
}

TEST(CsvReader, SaysWhereAQuoteIsWrong) {
  EXPECT_EQ(reader_error("a,b\n\"c,d\ne,f\n"),
            "f, line 2: a quote is opened here and never closed");
  EXPECT_EQ(reader_error("a,\"b\"c\n"),
            "f, line 1, column 2: expected the separator behind a closing quote, found 'c'");
  EXPECT_EQ(reader_error("\xFF\xFE"
                         "a"),
            "f: expected UTF-8 text, found UTF-16; save it as UTF-8");
  EXPECT_EQ(reader_error(std::string("a\0b", 3)), "f: expected a table as text, found binary data");
}

TEST(CsvReader, ALineWithoutEndIsRefusedBeforeItFillsMemory) {
  const auto endless = [](char c) {
    return [c](std::span<char> buffer) {
      std::fill(buffer.begin(), buffer.end(), c);
      return buffer.size();
    };
  };
  for (const char c : {'1', '"'}) {
    try {
      CsvReader reader(endless(c), "f", ',');
      reader.next();
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("64 MiB"), std::string::npos) << error.what();
    }
  }
}

// What one record holds, be it a quote or no line end for long, costs nothing but itself.
TEST(CsvReader, OneLineIsOneRecordWhereThatIsPromised) {
  const std::string long_line(CsvReader::kMaxRecord + (std::size_t{1} << 20), '1');
  const std::string text = "1,2\n\"3,4\n5,6\n\n" + long_line + "\n7,8\n";
  CsvReader reader(bytes_of(text), "f", ',', RecordLines::one);
  std::vector<std::string> found;
  while (reader.next()) {
    try {
      found.push_back(std::to_string(reader.fields().size()));
    } catch (const Error&) {
      found.push_back("broken");
    }
  }
  EXPECT_EQ(found, (std::vector<std::string>{"2", "broken", "2", "1", "broken", "2"}));
  EXPECT_EQ(reader.line(), 7U);
}

std::string quoted_text(const Records& records, char separator) {
  std::string text;
  for (const auto& record : records) {
    for (std::size_t i = 0; i < record.size(); ++i) {
      if (i > 0) text += separator;
      text += '"';
      for (const char c : record[i]) text += c == '"' ? std::string("\"\"") : std::string(1, c);
      text += '"';
    }
    text += '\n';
  }
  return text;
}

TEST(CsvReader, ReadsBackWhateverIsQuoted) {
  const std::string letters = "ab,;\"\n\r \t1";
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RngStream rng(seed, Draw::data, 0, 0);
    Records records(1 + rng.below(4));
    const auto columns = 2 + rng.below(4);
    for (auto& record : records) {
      for (std::size_t c = 0; c < columns; ++c) {
        std::string field;
        for (auto length = rng.below(9); length > 0; --length)
          field += letters[rng.below(letters.size())];
        record.push_back(field);
      }
    }
    for (const char separator : kSeparators)
      EXPECT_EQ(read_records(quoted_text(records, separator), separator), records) << seed;
  }
}

TEST(Dialect, GuessesTheSeparator) {
  EXPECT_EQ(guess_separator("a,b\n1,2\n"), ',');
  EXPECT_EQ(guess_separator("a;b;c\n1,5;2;x\n2,5;3;y\n"), ';');
  EXPECT_EQ(guess_separator("name\tage\n\"Doe, J\"\t3\n"), '\t');
  EXPECT_EQ(guess_separator("a|b\n1|2\n"), '|');
  EXPECT_EQ(guess_separator("\"a,b\";c\n\"d,e\";f\n"), ';');
  EXPECT_EQ(guess_separator("one column\n"), ',');
  EXPECT_EQ(guess_separator(""), ',');
}

}  // namespace
}  // namespace porter
