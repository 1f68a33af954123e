// SPDX-License-Identifier: Apache-2.0
#include "eval_result.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "io/json.hpp"
#include "report/heat_map.hpp"
#include "report/page.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

namespace porter::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownClasses = 20;    // of more, tables would not be read
constexpr std::size_t kMappedClasses = 100;  // of a thousand, the map alone would be 100 MB

std::string percent(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f} %", 100 * *value) : "-";
}

std::string name_of(const EvalResult& result, std::size_t c) {
  return without_controls(result.classes[c]);
}

std::string class_table(const EvalResult& result) {
  std::size_t width = 5;
  for (std::size_t c = 0; c < result.classes.size(); ++c)
    width = std::max(width, name_of(result, c).size());
  std::string text = fmt::format("\n{:<{}} {:>9} {:>10} {:>10} {:>10}\n", "class", width, "records",
                                 "precision", "recall", "F1");
  for (std::size_t c = 0; c < result.classes.size(); ++c) {
    const auto& scores = result.assessment->classes[c];
    text += fmt::format("{:<{}} {:>9} {:>10} {:>10} {:>10}\n", name_of(result, c), width,
                        scores.records, percent(scores.precision), percent(scores.recall),
                        percent(scores.f1));
  }
  return text;
}

std::string confusion_table(const EvalResult& result) {
  std::string text = "\nrecords by class (down) and prediction (across)\n";
  std::size_t width = 7;
  for (std::size_t c = 0; c < result.classes.size(); ++c)
    width = std::max(width, name_of(result, c).size());
  text += fmt::format("{:<{}}", "", width);
  for (std::size_t c = 0; c < result.classes.size(); ++c)
    text += fmt::format(" {:>{}}", name_of(result, c), width);
  for (std::size_t c = 0; c < result.classes.size(); ++c) {
    text += fmt::format("\n{:<{}}", name_of(result, c), width);
    for (const auto count : result.assessment->confusion[c])
      text += fmt::format(" {:>{}}", count, width);
  }
  return text + "\n";
}

// None and all are exact.
std::string whole_percent(std::size_t count, double percent) {
  if (count > 0 && percent < 0.5) return "<1";
  return percent < 100 && percent >= 99.5 ? "99" : fmt::format("{:.0f}", percent);
}

HeatMap confusion_map(const EvalResult& result) {
  HeatMap map{.title = "Confusion",
              .help =
                  "How many in a hundred records of a class (down) the model gives each class "
                  "(across).",
              .x_title = "prediction",
              .y_title = "class",
              .value_title = "% of the class",
              .higher_is_better = true,
              .range = Range{0, 100}};
  for (std::size_t c = 0; c < result.classes.size(); ++c) map.x.push_back(name_of(result, c));
  for (std::size_t row = result.classes.size(); row-- > 0;) {  // the first class at the top
    map.y.push_back(name_of(result, row));
    const auto records = result.assessment->classes[row].records;
    for (const auto count : result.assessment->confusion[row]) {
      auto& cell = map.cells.emplace_back();
      if (records == 0) continue;
      cell.value = 100 * static_cast<double>(count) / static_cast<double>(records);
      cell.text = whole_percent(count, *cell.value);
      cell.tip = fmt::format("{} of {} records", count, records);
    }
  }
  return map;
}

Plot roc_plot(const EvalResult& result) {
  Series curve{.name = "model"}, chance{.name = "by chance", .style = 6, .companion = true};
  for (const auto& point : result.assessment->roc)
    curve.add(point.false_positives, point.true_positives);
  chance.add(0, 0);
  chance.add(1, 1);
  return {.title = "ROC",
          .help = fmt::format("The area under it is {:.4f}. Dotted: by chance.",
                              result.assessment->auc.value_or(0)),
          .x = {.title = "false positives", .offer_log = false},
          .y = {.title = "true positives", .offer_log = false},
          .series = {curve, chance}};
}

Plot calibration_plot(const EvalResult& result) {
  Series bins{.name = "model", .points = true},
      ideal{.name = "ideal", .style = 6, .companion = true};
  for (const auto& bin : result.assessment->calibration) bins.add(bin.predicted, bin.observed);
  ideal.add(0, 0);
  ideal.add(1, 1);
  return {.title = "Calibration",
          .help =
              "Records in up to ten groups by probability: what the model says and what is so. "
              "Dotted: both are the same.",
          .x = {.title = fmt::format("predicted probability of {}", name_of(result, 1)),
                .offer_log = false},
          .y = {.title = "observed share", .offer_log = false},
          .series = {bins, ideal}};
}

// A mark on the dotted line is exact.
Plot target_plot(const EvalResult& result) {
  Plot plot{.title = "Predictions",
            .help =
                "Each mark is a record: what is so and what the model says. Dotted: both are "
                "the same.",
            .x = {.title = "label", .offer_log = false},
            .y = {.title = "prediction", .offer_log = false}};
  Range range;
  for (std::size_t t = 0; t < result.targets.size(); ++t) {
    Series marks{.name = result.targets.size() == 1 ? std::string("records")
                                                    : fmt::format("target {}", t + 1),
                 .style = t,
                 .points = true};
    for (const auto& point : result.targets[t]) {
      marks.add(point.label, point.prediction);
      range.add(point.label);
    }
    plot.series.push_back(std::move(marks));
  }
  Series exact{.name = "exact", .style = 6, .companion = true};
  for (const double at : {range.low, range.high}) exact.add(at, at);
  plot.series.push_back(std::move(exact));
  return plot;
}

std::string html_table(const EvalResult& result) {
  Table table{{text_column("class", "class"),
               {"records", "records"},
               {"precision", "precision"},
               {"recall", "recall"},
               {"f1", "F1"}}};
  for (std::size_t c = 0; c < result.classes.size(); ++c) {
    const auto& scores = result.assessment->classes[c];
    table.rows.push_back({{.text = name_of(result, c)},
                          {.text = std::to_string(scores.records)},
                          {.text = percent(scores.precision)},
                          {.text = percent(scores.recall)},
                          {.text = percent(scores.f1)}});
  }
  return "<div class=\"scroll\">\n" + table.to_html() + "</div>\n";
}

std::string headline(const EvalResult& result) {
  const auto& found = result.evaluation;
  std::string text = fmt::format("loss {:.6g}", found.loss);
  if (result.majority_rate)
    text += fmt::format(", accuracy {:.2f} % (majority class {:.2f} %)", 100 * found.accuracy,
                        100 * *result.majority_rate);
  if (result.assessment && result.assessment->auc)
    text += fmt::format(", AUC {:.4f}", *result.assessment->auc);
  if (found.fit) text += fmt::format(", RMSE {:.6g}", found.fit->rmse);
  if (found.fit && found.fit->r2) text += fmt::format(", R2 {:.6f}", *found.fit->r2);
  if (found.fit && found.fit->r2 && *found.fit->r2 < 0)
    text += " (always answering the mean label scores 0)";
  return text;
}

}  // namespace

std::string eval_text(const EvalResult& result) {
  auto text = fmt::format("{} of {} on {} rows of {}\n{}\n", result.which, result.model,
                          result.rows, result.data, headline(result));
  if (!result.assessment || result.classes.size() > kShownClasses) return text;
  text += class_table(result) + confusion_table(result);
  if (result.assessment->calibration_error)
    text += fmt::format("\ncalibration error {:.4f}\n", *result.assessment->calibration_error);
  return text;
}

std::string eval_json(const EvalResult& result) {
  const auto& found = result.evaluation;
  Json json = {{"model", result.model},
               {"which", result.which},
               {"data", result.data},
               {"rows", result.rows},
               {"loss", found.loss}};
  json["accuracy"] = result.assessment ? Json(found.accuracy) : Json(nullptr);
  json["majority_rate"] = or_null(result.majority_rate);
  json["rmse"] = found.fit ? Json(found.fit->rmse) : Json(nullptr);
  json["r2"] = found.fit ? or_null(found.fit->r2) : Json(nullptr);
  if (!result.assessment) return json_text(json, 2) + "\n";
  const auto& assessment = *result.assessment;
  json["auc"] = or_null(assessment.auc);
  json["calibration_error"] = or_null(assessment.calibration_error);
  json["confusion"] = assessment.confusion;
  for (std::size_t c = 0; c < result.classes.size(); ++c)
    json["classes"].push_back({{"class", result.classes[c]},
                               {"records", assessment.classes[c].records},
                               {"precision", or_null(assessment.classes[c].precision)},
                               {"recall", or_null(assessment.classes[c].recall)},
                               {"f1", or_null(assessment.classes[c].f1)}});
  for (const auto& bin : assessment.calibration)
    json["calibration"].push_back(
        {{"records", bin.records}, {"predicted", bin.predicted}, {"observed", bin.observed}});
  return json_text(json, 2) + "\n";
}

std::string eval_page(const EvalResult& result) {
  std::string sections;
  if (result.assessment) {
    sections += page_section("classes", "Classes", html_table(result));
    std::string figures;
    if (result.classes.size() <= kMappedClasses) figures += heat_map_html(confusion_map(result));
    if (!result.assessment->roc.empty()) figures += figure_html(roc_plot(result), "roc");
    if (!result.assessment->calibration.empty())
      figures += figure_html(calibration_plot(result), "calibration");
    if (!figures.empty())
      sections += page_section("figures", "Figures", "<div class=\"plots\">" + figures + "</div>");
  }
  if (!result.targets.empty() && !result.targets.front().empty())
    sections += page_section(
        "figures", "Figures",
        "<div class=\"plots\">" + figure_html(target_plot(result), "targets") + "</div>");
  return page_shell("How good the model is", headline(result),
                    fmt::format("{} of {} on {} rows of {}", result.which, result.model,
                                result.rows, result.data),
                    sections);
}

}  // namespace porter::cli
