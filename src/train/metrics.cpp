// SPDX-License-Identifier: Apache-2.0
#include "porter/train/metrics.hpp"

#include <type_traits>

#include "core/text.hpp"

namespace porter {

std::optional<double> MetricsColumn::get(const MetricsRow& row) const {
  if (raw && !row.raw) return std::nullopt;
  return std::visit([&](auto member) -> std::optional<double> { return row.*member; }, field);
}

void MetricsColumn::set(MetricsRow& row, std::optional<double> value) const {
  std::visit(
      [&](auto member) {
        using Field = std::remove_reference_t<decltype(row.*member)>;
        if constexpr (std::is_same_v<Field, std::optional<double>>)
          row.*member = value;
        else
          row.*member = static_cast<Field>(value.value_or(0));
      },
      field);
}

std::string MetricsColumn::text(const MetricsRow& row) const {
  const auto value = get(row);
  auto text = value ? shortest(*value) : "";
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

const std::vector<MetricsColumn>& metrics_columns() {
  static const std::vector<MetricsColumn> columns = {
      {"round", &MetricsRow::round},
      {"loss", &MetricsRow::loss, true},
      {"grad_norm_sq", &MetricsRow::grad_norm_sq, true},
      {"utility", &MetricsRow::utility, true},
      {"train_accuracy", &MetricsRow::train_accuracy, true},
      {"test_accuracy", &MetricsRow::test_accuracy},
      {"test_loss", &MetricsRow::test_loss},
      {"agent_loss_mean", &MetricsRow::agent_loss_mean, true},
      {"agent_loss_worst", &MetricsRow::agent_loss_worst, true},
      {"agent_accuracy_mean", &MetricsRow::agent_accuracy_mean},
      {"agent_accuracy_worst", &MetricsRow::agent_accuracy_worst},
      {"consensus_error", &MetricsRow::consensus_error},
      {"tracking_error", &MetricsRow::tracking_error},
      {"bits_per_agent", &MetricsRow::bits_per_agent},
      {"link_bits_per_agent", &MetricsRow::link_bits_per_agent},
      {"epsilon", &MetricsRow::epsilon},
      {"seconds", &MetricsRow::seconds},
      {"train_rmse", &MetricsRow::train_rmse, true},
      {"train_r2", &MetricsRow::train_r2, true},
      {"test_rmse", &MetricsRow::test_rmse},
      {"test_r2", &MetricsRow::test_r2},
      {"agent_rmse_mean", &MetricsRow::agent_rmse_mean},
      {"agent_rmse_worst", &MetricsRow::agent_rmse_worst},
      {"agent_r2_mean", &MetricsRow::agent_r2_mean},
      {"agent_r2_worst", &MetricsRow::agent_r2_worst},
      {"ema_test_accuracy", &MetricsRow::ema_test_accuracy},
      {"ema_test_loss", &MetricsRow::ema_test_loss},
      {"ema_agent_accuracy_mean", &MetricsRow::ema_agent_accuracy_mean},
      {"ema_agent_accuracy_worst", &MetricsRow::ema_agent_accuracy_worst},
      {"ema_test_rmse", &MetricsRow::ema_test_rmse},
      {"ema_agent_rmse_mean", &MetricsRow::ema_agent_rmse_mean},
  };
  return columns;
}

std::string metrics_header() {
  std::string line;
  for (const auto& column : metrics_columns())
    line.append(line.empty() ? "" : ",").append(column.name);
  return line + '\n';
}

std::string metrics_line(const MetricsRow& row) {
  std::string line;
  for (const auto& column : metrics_columns())
    line.append(line.empty() ? "" : ",").append(column.text(row));
  return line + '\n';
}

}  // namespace porter
