// SPDX-License-Identifier: Apache-2.0
#include "onnx_graph.hpp"

#include <bit>

#include "porter/core/error.hpp"
#include "porter/version.hpp"

namespace porter {
namespace {

// Operators are as of these versions; readers of 2022 and later know them.
constexpr std::uint64_t kIrVersion = 8, kOpset = 15, kMlOpset = 3;
constexpr std::string_view kMlDomain = "ai.onnx.ml";

// Numbers of the fields in onnx.proto.
namespace model_field {
constexpr unsigned ir_version = 1, producer = 2, producer_version = 3, graph = 7, opset = 8,
                   metadata = 14;
}
namespace graph_field {
constexpr unsigned node = 1, name = 2, initializer = 5, input = 11, output = 12;
}
namespace node_field {
constexpr unsigned input = 1, output = 2, name = 3, op = 4, attribute = 5, domain = 7;
}
namespace attribute_field {
constexpr unsigned name = 1, i = 3, ints = 8, strings = 9, type = 20;
constexpr std::uint64_t kInt = 2, kInts = 7, kStrings = 8;
}  // namespace attribute_field
namespace tensor_field {
constexpr unsigned dims = 1, type = 2, strings = 6, name = 8, raw = 9;
}

template <class Word>
void append_little_endian(Word word, std::string& bytes) {
  for (std::size_t i = 0; i < sizeof word; ++i) bytes += static_cast<char>(word >> 8 * i);
}

ProtoMessage tensor_of(const std::vector<std::size_t>& shape, OnnxType type) {
  ProtoMessage tensor;
  for (const auto extent : shape) tensor.number(tensor_field::dims, extent);
  tensor.number(tensor_field::type, static_cast<unsigned>(type));
  return tensor;
}

}  // namespace

ProtoMessage OnnxGraph::integer(std::string_view name, std::int64_t value) {
  return ProtoMessage()
      .text(attribute_field::name, name)
      .number(attribute_field::i, static_cast<std::uint64_t>(value))
      .number(attribute_field::type, attribute_field::kInt);
}

ProtoMessage OnnxGraph::integers(std::string_view name, std::span<const std::int64_t> values) {
  auto attribute = ProtoMessage().text(attribute_field::name, name);
  for (const auto value : values)
    attribute.number(attribute_field::ints, static_cast<std::uint64_t>(value));
  return attribute.number(attribute_field::type, attribute_field::kInts);
}

ProtoMessage OnnxGraph::texts(std::string_view name, std::span<const std::string> values) {
  auto attribute = ProtoMessage().text(attribute_field::name, name);
  for (const auto& value : values) attribute.text(attribute_field::strings, value);
  return attribute.number(attribute_field::type, attribute_field::kStrings);
}

// ValueInfoProto.type: a tensor whose first extent, N, is the caller's.
ProtoMessage OnnxGraph::tensor_type(OnnxType type, std::size_t columns) {
  ProtoMessage shape;
  shape.message(1, ProtoMessage().text(2, "N"));
  if (columns > 0) shape.message(1, ProtoMessage().number(1, columns));
  return ProtoMessage().message(
      1, ProtoMessage().number(1, static_cast<unsigned>(type)).message(2, shape));
}

OnnxName OnnxGraph::fresh(const std::string& hint) {
  std::string name;
  do name = concat("porter_", hint, '_', ++count_);
  while (!names_.insert(name).second);
  return name;
}

OnnxName OnnxGraph::input(const std::string& name, OnnxType type, std::size_t columns) {
  require(!name.empty(), ErrorKind::usage,
          "an input of an ONNX graph needs a name, and a column "
          "of the schema has none");
  require(names_.insert(name).second, ErrorKind::usage, "two inputs have the name \"", name, "\"");
  inputs_.message(graph_field::input,
                  ProtoMessage().text(1, name).message(2, tensor_type(type, columns)));
  return name;
}

void OnnxGraph::output(const OnnxName& tensor, std::string name, OnnxType type,
                       std::size_t columns) {
  while (!names_.insert(name).second) name += '_';
  nodes_.message(graph_field::node, ProtoMessage()
                                        .text(node_field::input, tensor)
                                        .text(node_field::output, name)
                                        .text(node_field::op, "Identity"));
  outputs_.message(graph_field::output,
                   ProtoMessage().text(1, name).message(2, tensor_type(type, columns)));
}

OnnxName OnnxGraph::add(const std::string& op, const OnnxNames& inputs,
                        std::initializer_list<ProtoMessage> attributes, std::string_view domain) {
  ProtoMessage node;
  for (const auto& input : inputs) node.text(node_field::input, input);
  const auto name = fresh(op);
  node.text(node_field::output, name).text(node_field::name, name).text(node_field::op, op);
  for (const auto& attribute : attributes) node.message(node_field::attribute, attribute);
  if (!domain.empty()) node.text(node_field::domain, domain);
  nodes_.message(graph_field::node, node);
  return name;
}

OnnxName OnnxGraph::cast(const OnnxName& tensor, OnnxType to) {
  return add("Cast", {tensor}, {integer("to", static_cast<std::int64_t>(to))});
}

OnnxName OnnxGraph::initializer(ProtoMessage tensor) {
  const auto name = fresh("constant");
  constants_.message(graph_field::initializer, tensor.text(tensor_field::name, name));
  return name;
}

OnnxName OnnxGraph::constant(std::span<const double> values, std::vector<std::size_t> shape,
                             OnnxType type) {
  std::string raw;
  for (const double value : values)
    if (type == OnnxType::float64)
      append_little_endian(std::bit_cast<std::uint64_t>(value), raw);
    else
      append_little_endian(std::bit_cast<std::uint32_t>(static_cast<float>(value)), raw);
  return initializer(tensor_of(shape, type).text(tensor_field::raw, raw));
}

OnnxName OnnxGraph::constant(std::span<const std::int64_t> values, std::vector<std::size_t> shape) {
  std::string raw;
  for (const auto value : values) append_little_endian(static_cast<std::uint64_t>(value), raw);
  return initializer(tensor_of(shape, OnnxType::int64).text(tensor_field::raw, raw));
}

OnnxName OnnxGraph::constant(std::span<const std::string> values) {
  auto tensor = tensor_of({values.size()}, OnnxType::text);
  for (const auto& value : values) tensor.text(tensor_field::strings, value);
  return initializer(std::move(tensor));
}

std::string OnnxGraph::model(std::string_view name, std::string_view card) const {
  // Protocol buffers may be concatenated: these are the fields of the graph, in four runs.
  const ProtoMessage title = ProtoMessage().text(graph_field::name, name);
  std::string graph;
  for (const auto* part : {&nodes_, &title, &constants_, &inputs_, &outputs_})
    graph += part->bytes();
  const auto opset = [](std::string_view domain, std::uint64_t version) {
    return ProtoMessage().text(1, domain).number(2, version);
  };
  return ProtoMessage()
      .number(model_field::ir_version, kIrVersion)
      .text(model_field::producer, "porter")
      .text(model_field::producer_version, kVersion)
      .text(model_field::graph, graph)
      .message(model_field::opset, opset("", kOpset))
      .message(model_field::opset, opset(kMlDomain, kMlOpset))
      .message(model_field::metadata, ProtoMessage().text(1, "porter").text(2, card))
      .bytes();
}

}  // namespace porter
