// SPDX-License-Identifier: Apache-2.0
#include "bindings.hpp"
#include "porter/core/error.hpp"

namespace porter::python {
namespace {

const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::io:
      return "io";
    case ErrorKind::network:
      return "network";
    case ErrorKind::protocol:
      return "protocol";
    case ErrorKind::privacy:
      return "privacy";
    case ErrorKind::numeric:
      return "numeric";
  }
  return "usage";
}

}  // namespace

// An Error becomes the exception of its kind, with its text.
void bind_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const auto made = py::module_::import("porterdp._errors")
                            .attr("error_of")(kind_name(error.kind()), error.what());
      PyErr_SetObject(py::type::handle_of(made).ptr(), made.ptr());
    }
  });
}

}  // namespace porter::python
