// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "core/text.hpp"
#include "grid/sweep_report.hpp"

namespace porter {
namespace {

constexpr std::size_t kMaxKeys = 3;     // of which pairs are drawn
constexpr std::size_t kMaxLabels = 24;  // along an axis of a heat map
constexpr double kLogRatio = 20;

// The different values of a key: ascending if they are numbers, else as they were given.
struct KeyValues {
  std::vector<std::string> texts;
  bool numeric = true;

  KeyValues(const Sweep& sweep, std::size_t key) {
    for (const auto& setting : sweep.settings) {
      const auto& value = setting.values[key];
      numeric = numeric && parse_number<double>(value);
      if (std::find(texts.begin(), texts.end(), value) == texts.end()) texts.push_back(value);
    }
    if (numeric)
      std::sort(texts.begin(), texts.end(), [](const auto& a, const auto& b) {
        return *parse_number<double>(a) < *parse_number<double>(b);
      });
  }
  std::size_t place(const std::string& value) const {
    return static_cast<std::size_t>(std::find(texts.begin(), texts.end(), value) - texts.begin());
  }
};

// How much the best metric differs between the values of a key.
double importance(const Sweep& sweep, const SweepResult& result, std::size_t key) {
  std::map<std::string, double> best;
  for (const auto& setting : result.ranked)
    if (setting.status == RunEnd::finished)  // the best comes first
      best.try_emplace(sweep.settings[setting.setting].values[key], *setting.mean);
  if (best.size() < 2) return 0;
  const auto [low, high] = std::ranges::minmax(std::views::values(best));
  return high - low;
}

HeatCell cell_of(const Sweep& sweep, const SettingResult& setting) {
  HeatCell cell;
  cell.tip = sweep.settings[setting.setting].name + "\n";
  if (setting.status == RunEnd::finished) {
    cell.value = setting.mean;
    cell.tip += fmt::format("{} = {:.6g}", sweep.metric.column.name, *setting.mean);
    if (setting.stddev) cell.tip += fmt::format(" ± {:.2g}", *setting.stddev);
  } else {
    cell.text = to_string(setting.status);
    cell.tip += cell.text + ": " + setting.reason;
  }
  return cell;
}

HeatMap heat_map_of(const Sweep& sweep, const SweepResult& result, std::size_t x, std::size_t y) {
  const KeyValues xs(sweep, x), ys(sweep, y);
  const auto names = short_keys(sweep.keys);
  const std::string metric = sweep.metric.column.name;
  HeatMap map{.title = metric + " by " + names[x] + " and " + names[y],
              .help = sweep.keys.size() > 2
                          ? "Mean over seeds of the best setting with these two values; bright is "
                            "good, the best is framed."
                          : "Mean over seeds; bright is good, the best is framed.",
              .x_title = sweep.keys[x],
              .y_title = sweep.keys[y],
              .value_title = metric + ", worst to best",
              .x = {},
              .y = {},
              .cells = {},
              .higher_is_better = sweep.metric.higher_is_better};
  for (const auto& value : xs.texts) map.x.push_back(plain_value(value));
  for (const auto& value : ys.texts) map.y.push_back(plain_value(value));
  map.cells.resize(map.x.size() * map.y.size());
  for (auto setting = result.ranked.rbegin(); setting != result.ranked.rend(); ++setting) {
    const auto& values = sweep.settings[setting->setting].values;
    auto& cell = map.cells[ys.place(values[y]) * map.x.size() + xs.place(values[x])];
    cell = cell_of(sweep, *setting);
    cell.best = &*setting == result.best();
  }
  return map;
}

Plot key_plot(const Sweep& sweep, const SweepResult& result, std::size_t key) {
  const auto names = short_keys(sweep.keys);
  const std::string metric = sweep.metric.column.name;
  const bool alone = sweep.keys.size() == 1;
  Plot plot{.title = metric + " by " + names[key],
            .help = alone ? "Mean over seeds; band: one standard deviation."
                          : "Each mark is a setting that finished, mean over seeds.",
            .x = {.title = sweep.keys[key]},
            .y = {.title = metric}};
  Series all{.name = "settings", .style = 0, .points = true};
  Series best{.name = alone ? "mean over seeds" : "best of the settings", .style = 1};
  Range xs, ys;
  for (const auto& value : KeyValues(sweep, key).texts) {
    const double x = *parse_number<double>(value);
    bool first = true;
    for (const auto& setting : result.ranked) {
      if (setting.status != RunEnd::finished ||
          sweep.settings[setting.setting].values[key] != value)
        continue;
      const double mean = *setting.mean, stddev = setting.stddev.value_or(0);
      all.add(x, mean);
      xs.add(x);
      ys.add(mean);
      if (std::exchange(first, false)) best.add(x, mean, mean - stddev, mean + stddev);
    }
  }
  if (all.x.empty()) return plot;
  plot.y.log = ys.beyond(kLogRatio);
  plot.x.log = xs.beyond(kLogRatio / 2);
  if (!alone) best.band_low = best.band_high = {};
  plot.series.push_back(std::move(all));
  if (alone || sweep.design == SweepDesign::grid) plot.series.push_back(std::move(best));
  return plot;
}

}  // namespace

std::vector<HeatMap> sweep_heat_maps(const Sweep& sweep, const SweepResult& result) {
  std::vector<std::pair<double, std::size_t>> order;  // the most important first
  for (std::size_t key = 0; key < sweep.keys.size(); ++key) {
    const auto count = KeyValues(sweep, key).texts.size();
    if (count > 1 && count <= kMaxLabels) order.emplace_back(-importance(sweep, result, key), key);
  }
  std::sort(order.begin(), order.end());
  if (order.size() > kMaxKeys) order.resize(kMaxKeys);
  std::vector<HeatMap> maps;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const auto [y, x] = std::minmax(order[i].second, order[j].second);
      maps.push_back(heat_map_of(sweep, result, x, y));
    }
  return maps;
}

std::vector<Plot> sweep_key_plots(const Sweep& sweep, const SweepResult& result) {
  std::vector<Plot> plots;
  for (std::size_t key = 0; key < sweep.keys.size(); ++key) {
    const KeyValues values(sweep, key);
    if (!values.numeric || values.texts.size() < 2) continue;
    if (auto plot = key_plot(sweep, result, key); !plot.series.empty())
      plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace porter
