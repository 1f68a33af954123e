// SPDX-License-Identifier: Apache-2.0
#include "porter/data/image.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>
#include <vector>

#include "core/memo.hpp"
#include "core/text.hpp"
#include "image_features.hpp"
#include "porter/core/error.hpp"
#include "porter/core/thread_pool.hpp"

namespace porter {
namespace {

struct TransformRow {
  TransformKind kind;
  std::size_t least_side, most_side;
  std::size_t (*features)(const ImageShape& shape);
  std::unique_ptr<const ImageMap> (*make)(const ImageShape& shape);
};

constexpr TransformRow kTransforms[] = {
    {TransformKind::hog, 7, kMaxImageSide, hog_features, make_hog},
    {TransformKind::hog_centred, 7, kMaxImageSide, hog_features, make_hog_centred},
    {TransformKind::scattering, 8, 256, scattering_features, make_scattering}};

const TransformRow& row_of(TransformKind kind) {
  const auto* row = std::ranges::find(kTransforms, kind, &TransformRow::kind);
  assert(row != std::end(kTransforms));
  return *row;
}

// Filters are the same for all images of a shape, and records may come one by one.
std::shared_ptr<const ImageMap> map_of(const ImageTransform& transform) {
  using Key = std::tuple<TransformKind, std::size_t, std::size_t>;
  static Memo<Key, std::shared_ptr<const ImageMap>> maps;
  const auto& image = transform.image;
  return maps.get({transform.kind, image.height, image.width},
                  [&] { return std::shared_ptr(row_of(transform.kind).make(image)); });
}

// The images of rows [first, last), one behind the other, whether or not they are stored so.
std::vector<float> dense_rows(const Dataset& data, std::size_t first, std::size_t last) {
  std::vector<float> images((last - first) * data.features);
  for (std::size_t row = first; row < last; ++row)
    write_features(data[row],
                   std::span(images).subspan((row - first) * data.features, data.features));
  return images;
}

}  // namespace

ImageShape parse_image_shape(std::string_view text) {
  const auto side = [](std::string_view digits) {
    const auto number = parse_number<std::size_t>(digits).value_or(0);
    return number <= kMaxImageSide ? number : 0;
  };
  const auto cross = std::min(text.find('x'), text.size());
  const ImageShape shape{side(text.substr(0, cross)),
                         side(text.substr(std::min(cross + 1, text.size())))};
  require(bool(shape), ErrorKind::usage, "expected HEIGHTxWIDTH, each from 1 to ", kMaxImageSide,
          ", such as 28x28, found \"", text, "\"");
  return shape;
}

std::string to_string(const ImageShape& shape) { return concat(shape.height, 'x', shape.width); }

std::string to_string(const ImageTransform& transform) {
  const std::string name(choice_text(transform.kind));
  return transform ? concat(name, " of ", to_string(transform.image)) : name;
}

void to_unit_length(std::span<const double> row, std::span<float> out, double floor) {
  double squares = 0;
  for (const double value : row) squares += value * value;
  const double norm = squares == 0 ? 1 : std::sqrt(squares) + floor;
  for (std::size_t i = 0; i < row.size(); ++i) out[i] = static_cast<float>(row[i] / norm);
}

void ImageTransform::check() const {
  if (!*this) return;
  const auto name = choice_text(kind);
  require(bool(image), ErrorKind::usage, "data.transform = \"", name,
          "\" needs the shape of the images, which this data does not tell; in [data] write, for "
          "instance, image = \"28x28\"");
  const auto& row = row_of(kind);
  const auto [smaller, larger] = std::minmax(image.height, image.width);
  require(smaller >= row.least_side && larger <= row.most_side, ErrorKind::usage,
          "data.transform = \"", name, "\": expected images of ", row.least_side, " to ",
          row.most_side, " pixels a side, found ", to_string(image));
}

std::size_t ImageTransform::features() const { return row_of(kind).features(image); }

void ImageTransform::apply(Dataset& data) const {
  if (!*this) return;
  check();
  require(data.features == image.pixels(), ErrorKind::usage, "data.transform = \"",
          choice_text(kind), "\": images of ", to_string(image), " have ", image.pixels(),
          " pixels, and the records ", data.features, " features; data.image is the shape");
  constexpr std::size_t kImagesAtOnce = 64;
  const auto width = features(), rows = data.rows();
  std::vector<float> values(rows * width);
  const auto blocks = (rows + kImagesAtOnce - 1) / kImagesAtOnce;
  const auto map = map_of(*this);
  ThreadPool pool(blocks > 1 ? 0 : 1);
  pool.parallel_for(blocks, [&](std::size_t block) {
    const auto first = block * kImagesAtOnce, last = std::min(rows, first + kImagesAtOnce);
    map->apply(dense_rows(data, first, last),
               std::span(values).subspan(first * width, (last - first) * width));
  });
  data.values = std::move(values);
  data.columns.clear();
  data.row_starts.clear();
  data.lent_rows.clear();
  data.keepers.clear();
  data.features = width;
}

}  // namespace porter
