// SPDX-License-Identifier: Apache-2.0
#include "bindings.hpp"
#include "porter/compress/compressor.hpp"

namespace porter::python {
namespace {

// Where a compressor draws from: the place of a message in a run.
RngStream stream(std::uint64_t seed, std::uint32_t agent, std::uint32_t round) {
  return {seed, Draw::compress_x, agent, round};
}

py::array_t<float> to_dense(const Decoded& decoded, std::size_t dim) {
  py::array_t<float> out(static_cast<py::ssize_t>(dim));
  const std::span values(out.mutable_data(), dim);
  std::ranges::fill(values, 0.0F);
  for (std::size_t i = 0; i < decoded.values.size(); ++i)
    values[decoded.dense ? i : decoded.indices[i]] = decoded.values[i];
  return out;
}

py::bytes encode(const Compressor& compressor, const Floats& x, std::uint64_t seed,
                 std::uint32_t agent, std::uint32_t round) {
  Payload payload;
  compressor.encode({x.data(), static_cast<std::size_t>(x.size())}, stream(seed, agent, round),
                    payload);
  return {reinterpret_cast<const char*>(payload.data()), payload.size()};
}

py::array_t<float> decode(const Compressor& compressor, const py::bytes& payload, std::size_t dim,
                          std::uint64_t seed, std::uint32_t agent, std::uint32_t round) {
  const std::string_view text = payload;
  Decoded decoded;
  compressor.decode(std::as_bytes(std::span(text)), dim, stream(seed, agent, round), decoded);
  return to_dense(decoded, dim);
}

}  // namespace

void bind_compress(py::module_& module) {
  py::class_<Compressor, std::shared_ptr<Compressor>>(module, "Compressor")
      .def("encode", &encode)
      .def("decode", &decode)
      .def("rho", &Compressor::rho)
      .def("omega", &Compressor::omega)
      .def("kept", &Compressor::kept);
  module.def("make_compressor", [](const std::string& spec, bool unbiased) {
    // Immutable; pybind11 knows no pointers to const.
    return std::const_pointer_cast<Compressor>(
        std::shared_ptr<const Compressor>(make_compressor(spec, unbiased)));
  });
  module.def("compressors", [] {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& info : compressor_table()) all.emplace_back(info.example, info.help);
    return all;
  });
}

}  // namespace porter::python
