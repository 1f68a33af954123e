// SPDX-License-Identifier: Apache-2.0
// An ONNX graph under construction: nodes in order, constants, inputs and outputs.
#pragma once

#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protobuf.hpp"

namespace porter {

/// TensorProto.DataType
enum class OnnxType : unsigned { float32 = 1, int64 = 7, text = 8, boolean = 9, float64 = 11 };

/// The name of a tensor.
using OnnxName = std::string;
using OnnxNames = std::vector<OnnxName>;

class OnnxGraph {
 public:
  /// Attributes of a node.
  static ProtoMessage integer(std::string_view name, std::int64_t value);
  static ProtoMessage integers(std::string_view name, std::span<const std::int64_t> values);
  static ProtoMessage texts(std::string_view name, std::span<const std::string> values);

  /// A tensor [N, columns] that comes from outside. Error{usage} for a name that is empty or there
  /// already.
  OnnxName input(const std::string& name, OnnxType type, std::size_t columns);
  /// A tensor that is handed out: [N, columns], or [N] where that is 0. It has this name, or if
  /// another has it, this name and underscores.
  void output(const OnnxName& tensor, std::string name, OnnxType type, std::size_t columns);

  OnnxName add(const std::string& op, const OnnxNames& inputs,
               std::initializer_list<ProtoMessage> attributes = {}, std::string_view domain = "");
  OnnxName cast(const OnnxName& tensor, OnnxType to);

  /// A constant of float32 or float64.
  OnnxName constant(std::span<const double> values, std::vector<std::size_t> shape, OnnxType type);
  /// One number, of shape [1, 1].
  OnnxName constant(double value, OnnxType type) { return constant({&value, 1}, {1, 1}, type); }
  OnnxName constant(std::span<const std::int64_t> values, std::vector<std::size_t> shape);
  OnnxName constant(std::span<const std::string> values);

  /// The ModelProto.
  std::string model(std::string_view name, std::string_view card) const;

 private:
  OnnxName fresh(const std::string& hint);
  OnnxName initializer(ProtoMessage tensor);
  static ProtoMessage tensor_type(OnnxType type, std::size_t columns);

  std::set<std::string> names_;
  std::size_t count_ = 0;
  ProtoMessage nodes_, constants_, inputs_, outputs_;  // fields of the GraphProto, as they came
};

}  // namespace porter
