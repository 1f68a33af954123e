// SPDX-License-Identifier: Apache-2.0
#include "bindings.hpp"
#include "porter/core/choice.hpp"
#include "porter/core/error.hpp"

namespace porter {

template <>
struct Choices<ErrorKind> {
  static constexpr Choice<ErrorKind> table[] = {
      {"usage", ErrorKind::usage},     {"io", ErrorKind::io},
      {"network", ErrorKind::network}, {"protocol", ErrorKind::protocol},
      {"privacy", ErrorKind::privacy}, {"numeric", ErrorKind::numeric}};
};

}  // namespace porter

namespace porter::python {

// An Error becomes the exception of its kind, with its text.
void bind_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const auto made = py::module_::import("porterdp._errors")
                            .attr("error_of")(std::string(choice_text(error.kind())), error.what());
      PyErr_SetObject(py::type::handle_of(made).ptr(), made.ptr());
    }
  });
}

}  // namespace porter::python
