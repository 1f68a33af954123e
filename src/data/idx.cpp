// SPDX-License-Identifier: Apache-2.0
// The IDX format of the MNIST database: a big-endian header (magic number, extents), then bytes.
#include <array>

#include "io/input_stream.hpp"
#include "table.hpp"

namespace porter {
namespace {

constexpr std::uint32_t kImageMagic = 2051, kLabelMagic = 2049;

std::size_t big_endian(std::string_view bytes, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

struct Idx {
  std::vector<std::size_t> extents;
  std::string_view body;
};

Idx decode(std::string_view bytes, const std::string& name, std::uint32_t magic,
           std::size_t dimensions, std::string_view what) {
  require(!bytes.empty(), ErrorKind::io, name, ": the file is empty");
  require(bytes.size() >= 4 && big_endian(bytes, 0) == magic, ErrorKind::io, name,
          ", offset 0: expected the IDX magic number ", magic, " (", what, "), found ",
          bytes.size() >= 4 ? std::to_string(big_endian(bytes, 0)) : "fewer than 4 bytes");
  const std::size_t header_size = 4 + 4 * dimensions;
  require(bytes.size() >= header_size, ErrorKind::io, name, ": truncated: expected a header of ",
          header_size, " bytes, found ", bytes.size());
  Idx idx{.extents = {}, .body = bytes.substr(header_size)};
  std::size_t expected = 1;
  const auto found = idx.body.size();
  for (std::size_t at = 4; at < header_size; at += 4) {
    const auto extent = idx.extents.emplace_back(big_endian(bytes, at));
    require(extent > 0, ErrorKind::io, name, ": the IDX header has an extent of 0");
    require(expected <= found / extent, ErrorKind::io, name,
            ": truncated: the IDX header announces more than the ", found, " bytes that follow");
    expected *= extent;
  }
  require(expected == found, ErrorKind::io, name, ", offset ", header_size, ": expected ", expected,
          " bytes as the IDX header announces, found ", found);
  return idx;
}

}  // namespace

IdxImages decode_idx_images(std::string_view bytes, const std::string& name) {
  const auto [extents, pixels] = decode(bytes, name, kImageMagic, 3, "images of unsigned bytes");
  const auto features = extents[1] * extents[2];
  require(features <= kMaxFeatures, ErrorKind::io, name, ": expected at most ", kMaxFeatures,
          " pixels an image, found ", features);
  return {.count = extents[0], .features = features, .pixels = pixels};
}

ImageShape read_idx_shape(const std::string& file) {
  std::array<char, 16> header{};
  const auto found = InputStream(file).read(header);
  const std::string_view bytes(header.data(), found);
  require(found == header.size() && big_endian(bytes, 0) == kImageMagic, ErrorKind::io, file,
          ": expected an IDX file of images, which begins with the magic number ", kImageMagic,
          " and three extents");
  return {big_endian(bytes, 8), big_endian(bytes, 12)};
}

std::string_view decode_idx_labels(std::string_view bytes, const std::string& name) {
  return decode(bytes, name, kLabelMagic, 1, "labels of unsigned bytes").body;
}

FileTable table_of_images(const std::string& name, std::string_view pixels, std::size_t features,
                          std::string_view labels) {
  FileTable table{.name = name};
  table.data.features = features;
  table.data.values.reserve(pixels.size());
  for (const unsigned char pixel : pixels)
    table.data.values.push_back(static_cast<float>(pixel) / 255.0F);
  for (const unsigned char label : labels) table.labels.push_back(label);
  return table;
}

FileTable decode_idx(std::string_view image_bytes, const std::string& image_name,
                     std::string_view label_bytes, const std::string& label_name) {
  const auto images = decode_idx_images(image_bytes, image_name);
  const auto labels = decode_idx_labels(label_bytes, label_name);
  require(images.count == labels.size(), ErrorKind::io, label_name, ": expected ", images.count,
          " labels, one for each image of ", image_name, ", found ", labels.size());
  return table_of_images(label_name, images.pixels, images.features, labels);
}

}  // namespace porter
