// SPDX-License-Identifier: Apache-2.0
#include "data/schema_guess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "core/text.hpp"
#include "data/csv_reader.hpp"
#include "porter/core/error.hpp"
#include "porter/data/load.hpp"
#include "text.hpp"

namespace porter {
namespace {

constexpr std::size_t kMaxColumns = 10'000;
constexpr std::size_t kMaxRemembered = 2'000;  // different values of a column
constexpr std::size_t kFewClasses = 20;        // numbers with at most so many values can be classes
constexpr std::size_t kWorthAnId = 20;         // records, from which on all different means an id

// What is remembered of a column while its records pass by.
struct Tally {
  std::size_t numbers = 0, commas = 0, missing = 0, dates = 0, records = 0;
  double least = 0, most = 0;
  bool whole = true;  // no number has decimals
  std::set<std::string, std::less<>> values;
  bool more = false;

  bool all_numbers() const { return numbers > 0 && numbers + missing == records; }
  bool all_dates() const { return dates > 0 && dates + missing == records; }
  bool all_different() const {
    return records >= kWorthAnId && !more ? values.size() == records : more;
  }
};

bool is_missing(std::string_view field) {
  static const TableFormat kFormat;
  return std::ranges::find(kFormat.missing, field) != kFormat.missing.end();
}

// With a decimal comma or a point.
std::optional<double> any_number(std::string_view field, bool& comma) {
  const auto at = field.find(',');
  comma = at != field.npos;
  if (!comma) return parse_signed(field);
  std::string with_point(field);
  with_point[at] = '.';
  return parse_signed(with_point);
}

// 2024-01-31, 31.01.2024, 1/31/2024, a time behind it or not.
bool looks_like_date(std::string_view field) {
  std::size_t digits = 0, separators = 0;
  const auto day = field.substr(0, field.find_first_of(" T"));
  for (const char c : day) {
    digits += std::isdigit(static_cast<unsigned char>(c)) != 0 ? 1U : 0U;
    separators += c == '-' || c == '/' || c == '.' ? 1U : 0U;
  }
  return separators == 2 && digits >= 4 && digits <= 8 && digits + separators == day.size() &&
         std::isdigit(static_cast<unsigned char>(day.front())) != 0;
}

void count(Tally& tally, std::string_view field) {
  ++tally.records;
  if (is_missing(field)) {
    ++tally.missing;
    return;
  }
  bool comma = false;
  if (const auto value = any_number(field, comma); value && fits_float(*value)) {
    tally.least = tally.numbers == 0 ? *value : std::min(tally.least, *value);
    tally.most = tally.numbers == 0 ? *value : std::max(tally.most, *value);
    tally.whole = tally.whole && *value == std::floor(*value);
    ++tally.numbers;
    tally.commas += comma ? 1U : 0U;
  }
  tally.dates += looks_like_date(field) ? 1U : 0U;
  if (tally.more || tally.values.contains(field)) return;
  tally.more = tally.values.size() == kMaxRemembered;
  if (!tally.more) tally.values.emplace(field);
}

bool sounds_like_id(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  return name == "id" || name == "index" || name == "nr" || name == "no" || name == "key" ||
         ends("_id") || ends("-id") || ends(" id") || ends("_nr") || ends("_no") || name == "uuid";
}

// What people would write for it: 0.0003 and not 0.00030000000000000003.
double plain(double value) { return *parse_number<double>(fmt::format("{:.12g}", value)); }

// Away from zero to one digit, or two where the first is 1: [17, 90] becomes [0, 90]. What one
// record holds shows less, and others' records fit, too.
double rounded_out(double value) {
  if (std::abs(value) < 1e-300) return 0;  // where powers of ten are not exact any more
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))));
  const double lead = std::abs(value) / unit;
  const double step = lead < 2 ? unit / 10 : unit;
  double steps = std::floor(std::abs(value) / step);
  while (plain(steps * step) < std::abs(value)) ++steps;
  return std::copysign(plain(steps * step), value);
}

std::pair<double, double> range_of(const Tally& tally) {
  double low = tally.least >= 0 ? 0 : rounded_out(tally.least);
  double high = tally.most <= 0 ? 0 : rounded_out(tally.most);
  // Numbers far from zero, such as years, are not stretched to it.
  if (tally.least > 0 && tally.most - tally.least < tally.least / 2) {
    const double width =
        rounded_out(std::max({tally.most - tally.least, tally.least * 1e-3, 1e-6}));
    low = plain(std::floor(tally.least / width) * width);
    high = plain(std::ceil(tally.most / width) * width);
  }
  if (low == high) high = low + std::max(1.0, std::abs(low) * 1e-3);
  return {low, high};
}

// Numbers in their order, texts in theirs.
std::vector<std::string> sorted_values(const Tally& tally) {
  std::vector<std::string> values(tally.values.begin(), tally.values.end());
  if (tally.all_numbers())
    std::ranges::sort(values, {}, [](const std::string& text) {
      bool comma = false;
      return *any_number(text, comma);
    });
  return values;
}

Column guess_column(const Tally& tally, const GuessOptions& options, ColumnFinding& finding) {
  Column column{.name = finding.name};
  const auto drop = [&](std::string why) {
    column.kind = ColumnKind::drop;
    finding.why = std::move(why);
    return column;
  };
  column.missing = tally.missing > 0 ? Missing::own : Missing::error;
  if (std::ranges::count(options.drop, column.name) > 0) return drop("as asked for");
  if (tally.missing == tally.records) return drop("it is empty");
  if (tally.values.size() == 1 && !tally.more && tally.missing == 0)
    return drop("it has one value");
  if (tally.all_dates()) return drop("dates");
  if (tally.all_different() &&
      (!tally.all_numbers() || (tally.whole && sounds_like_id(column.name))))
    return drop("every record has another value, as an id has");
  if (tally.all_numbers()) {
    const auto [low, high] = range_of(tally);
    column.low = low;
    column.high = high;
    column.outside = Outside::clamp;
    column.scale = ColumnScale::range;
    finding.why = "numbers";
    return column;
  }
  if (tally.more || tally.values.size() > options.most_values)
    return drop("more than " + std::to_string(options.most_values) + " different texts");
  column.kind = ColumnKind::category;
  column.values = sorted_values(tally);
  column.unknown = Unknown::other;
  finding.why = tally.numbers > 0 ? "texts and numbers" : "texts";
  return column;
}

Label guess_label(const Tally& tally, bool one_of_several, ColumnFinding& finding) {
  Label label{.name = finding.name};
  require(tally.missing == 0, ErrorKind::io, "the label ", as_found(finding.name),
          " is missing in ", tally.missing, " of ", tally.records,
          " records; remove them, or choose another label");
  require(tally.all_numbers() || !one_of_several, ErrorKind::io, "the label ",
          as_found(finding.name), ": several labels are the targets of a regression; expected ",
          "numbers, found ", tally.records - tally.numbers, " of ", tally.records,
          " records with a text");
  if (tally.all_numbers() &&
      (one_of_several || tally.more || tally.values.size() > kFewClasses || !tally.whole)) {
    label.mean = 0;
    label.deviation =
        std::max(rounded_out(std::max(std::abs(tally.least), std::abs(tally.most))), 1e-6);
    finding.why = "label: a number";
    return label;
  }
  require(!tally.more && tally.values.size() <= kMaxClasses, ErrorKind::io, "the label ",
          as_found(finding.name), ": expected at most ", kMaxClasses, " classes, found more");
  require(tally.values.size() >= 2, ErrorKind::io, "the label ", as_found(finding.name),
          ": expected at least two classes, found one value");
  label.classes = sorted_values(tally);
  finding.why = "label: " + std::to_string(label.classes.size()) + " classes";
  return label;
}

WeightColumn guess_weight(const Tally& tally, ColumnFinding& finding) {
  require(tally.all_numbers() && tally.missing == 0, ErrorKind::io, "the weight ",
          as_found(finding.name), ": expected a number in every record, found ",
          tally.records - tally.numbers, " of ", tally.records, " without one");
  require(tally.least >= 0 && tally.most > 0, ErrorKind::io, "the weight ", as_found(finding.name),
          ": expected numbers >= 0, not all of them 0, found ", tally.least, " to ", tally.most);
  finding.why = "weight";
  const double maximum = rounded_out(tally.most);
  return {finding.name, maximum >= tally.most ? maximum : tally.most, Outside::clamp};
}

std::size_t find_column(const char* option, const std::string& label,
                        const std::vector<std::string>& names) {
  const auto found = std::ranges::find(names, label);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const auto place = parse_number<std::size_t>(label);
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
  require(place && *place >= 1 && *place <= names.size(), ErrorKind::usage, option,
          ": expected the name of a column or its place from 1 to ", names.size(), ", found \"",
          label, "\"; the columns are ", all);
  return *place - 1;
}

// The place of the weight, if there is one.
std::optional<std::size_t> find_weight(const GuessOptions& options,
                                       const std::vector<std::string>& names, bool header,
                                       const std::vector<std::size_t>& labels,
                                       const std::string& source) {
  if (options.weight.empty()) return std::nullopt;
  const auto place = find_column("--weight", options.weight, names);
  require(std::ranges::count(labels, place) == 0, ErrorKind::usage, "--weight: the column \"",
          names[place], "\" is a label");
  require(header || place + labels.size() + 1 == names.size(), ErrorKind::usage, source,
          ": without a header the weight must stand right before the labels, found it in column ",
          place + 1);
  return place;
}

// The places of the labels. Without a header columns are known by their place, with labels last.
std::vector<std::size_t> find_labels(const GuessOptions& options,
                                     const std::vector<std::string>& names, bool header,
                                     const std::string& source) {
  if (options.labels.empty()) return {names.size() - 1};
  std::vector<std::size_t> places;
  for (const auto& label : options.labels) {
    places.push_back(find_column("--label", label, names));
    require(std::ranges::count(places, places.back()) == 1, ErrorKind::usage,
            "--label: the column \"", names[places.back()], "\" is given twice");
  }
  if (header) return places;
  std::ranges::sort(places);
  require(places.front() + places.size() == names.size(), ErrorKind::usage, source,
          ": without a header labels must be the last columns, found one in column ",
          places.front() + 1);
  return places;
}

// The names of the columns; a first line that is no header is counted.
std::vector<std::string> read_names(CsvReader& reader, const GuessOptions& options,
                                    TableFormat& format, std::vector<Tally>& tallies) {
  require(reader.next(), ErrorKind::io, reader.name(), ": the file is empty");
  const auto fields = reader.fields();
  require(
      fields.size() >= 2, ErrorKind::io, reader.place(),
      ": expected at least one feature and the label, found one column; is the separator right?");
  require(fields.size() <= kMaxColumns, ErrorKind::io, reader.place(), ": expected at most ",
          kMaxColumns, " columns for a schema, found ", fields.size(),
          "; a table of numbers with the label last needs none");
  format.header = options.header.value_or(std::ranges::none_of(
      fields, [](auto field) { return parse_signed(field).has_value() || field.empty(); }));
  tallies.resize(fields.size());
  std::vector<std::string> names;
  for (std::size_t c = 0; c < fields.size(); ++c) {
    names.push_back(format.header ? std::string(fields[c]) : "column " + std::to_string(c + 1));
    require(is_utf8(fields[c]), ErrorKind::io, reader.place(), ", column ", c + 1,
            ": expected UTF-8 text, found ", as_found(fields[c]));
    require(!names.back().empty(), ErrorKind::io, reader.place(), ", column ", c + 1,
            ": expected the name of a column, found nothing");
    require(std::ranges::count(names, names.back()) == 1, ErrorKind::io, reader.place(),
            ": two columns are called ", as_found(names.back()));
    if (!format.header) count(tallies[c], fields[c]);
  }
  return names;
}

void read_records(CsvReader& reader, std::vector<Tally>& tallies) {
  while (reader.next()) {
    const auto fields = reader.fields();
    require(fields.size() == tallies.size(), ErrorKind::io, reader.place(), ": expected ",
            tallies.size(), " columns as in the first line, found ", fields.size());
    for (std::size_t c = 0; c < fields.size(); ++c) {
      require(is_utf8(fields[c]), ErrorKind::io, reader.place(), ", column ", c + 1,
              ": expected UTF-8 text, found ", as_found(fields[c]));
      count(tallies[c], fields[c]);
    }
  }
}

}  // namespace

SchemaGuess guess_schema(TextInput& input, const GuessOptions& options) {
  SchemaGuess guess;
  auto& format = guess.schema.format;
  format.separator = options.separator.value_or(guess_separator(input.start()));
  CsvReader reader(input.reader(), input.name(), format.separator);
  std::vector<Tally> tallies;
  const auto names = read_names(reader, options, format, tallies);
  for (const auto& name : options.drop)
    require(std::ranges::count(names, name) > 0, ErrorKind::usage, "--drop: there is no column \"",
            name, "\"");
  read_records(reader, tallies);
  guess.records = tallies.front().records;
  require(guess.records > 0, ErrorKind::io, input.name(), ": expected records, found none");

  const auto places = find_labels(options, names, format.header, input.name());
  const auto weight = find_weight(options, names, format.header, places, input.name());
  guess.schema.labels.resize(places.size());
  for (std::size_t c = 0; c < names.size(); ++c) {
    const auto& tally = tallies[c];
    ColumnFinding finding{names[c],   tally.numbers, tally.missing, tally.values.size(),
                          tally.more, tally.least,   tally.most,    {}};
    if (const auto label = std::ranges::find(places, c); label != places.end())
      guess.schema.labels[static_cast<std::size_t>(label - places.begin())] =
          guess_label(tally, places.size() > 1, finding);
    else if (c == weight)
      guess.schema.weight = guess_weight(tally, finding);
    else
      guess.schema.columns.push_back(guess_column(tally, options, finding));
    format.decimal_comma = format.decimal_comma ||
                           (tally.all_numbers() && tally.commas > 0 && format.separator != ',');
    guess.columns.push_back(std::move(finding));
  }
  require(!guess.schema.features().empty(), ErrorKind::io, input.name(),
          ": no column is left to learn from");
  return guess;
}

std::string draft_text(const SchemaGuess& guess, const std::string& source) {
  std::string text = concat(
      "# A draft, guessed from ", guess.records, " records of ", without_controls(source), ".\n",
      "# Ranges and values come from these records. Before others see it, or noise is to protect\n",
      "# them, write what is known without looking: possible ranges, all values that may occur.\n");
  for (const auto& column : guess.schema.columns)
    if (column.kind == ColumnKind::drop)
      for (const auto& finding : guess.columns)
        if (finding.name == column.name)
          text += concat("# ", without_controls(column.name), " is dropped: ", finding.why, ".\n");
  return text + "\n" + to_toml(guess.schema);
}

}  // namespace porter
