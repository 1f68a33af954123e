// SPDX-License-Identifier: Apache-2.0
#include "eval_result.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "io/json.hpp"
#include "report/heat_map.hpp"
#include "report/page.hpp"
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

HeatMap confusion_map(const EvalResult& result) {
  HeatMap map{.title = "Confusion",
              .help = "share of a class's records that the model gives each class",
              .x_title = "prediction",
              .y_title = "class",
              .value_title = "share",
              .higher_is_better = true};
  for (std::size_t c = 0; c < result.classes.size(); ++c) {
    map.x.push_back(name_of(result, c));
    map.y.push_back(name_of(result, c));
    const auto records = result.assessment->classes[c].records;
    for (const auto count : result.assessment->confusion[c])
      map.cells.push_back(
          records == 0
              ? HeatCell{}
              : HeatCell{.value = static_cast<double>(count) / static_cast<double>(records),
                         .tip = fmt::format("{} of {} records", count, records)});
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
          .help = fmt::format("the area under it is {:.4f}", result.assessment->auc.value_or(0)),
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
          .help = "records in ten groups by probability: what the model says and what is so",
          .x = {.title = fmt::format("predicted probability of {}", name_of(result, 1)),
                .offer_log = false},
          .y = {.title = "observed share", .offer_log = false},
          .series = {bins, ideal}};
}

std::string html_table(const EvalResult& result) {
  std::string rows;
  for (std::size_t c = 0; c < result.classes.size(); ++c) {
    const auto& scores = result.assessment->classes[c];
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        escape_html(name_of(result, c)), scores.records, percent(scores.precision),
                        percent(scores.recall), percent(scores.f1));
  }
  return "<div class=scroll><table><thead><tr><th>class</th><th>records</th><th>precision</th>"
         "<th>recall</th><th>F1</th></tr></thead><tbody>\n" +
         rows + "</tbody></table></div>\n";
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
  return page_shell("How good the model is", headline(result),
                    fmt::format("{} of {} on {} rows of {}", result.which, result.model,
                                result.rows, result.data),
                    sections);
}

}  // namespace porter::cli
