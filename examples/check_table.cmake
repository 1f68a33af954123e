# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=... -DDOC=... -P check_table.cmake: the text between the lines
# <!-- made by NAME --> and <!-- end --> of DOC must be what PROGRAM, called NAME, prints.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} failed: ${status}")
endif()
get_filename_component(name ${PROGRAM} NAME)
file(READ ${DOC} doc)
string(FIND "${doc}" "<!-- made by ${name} -->\n${printed}<!-- end -->\n" at)
if(at EQUAL -1)
  message(FATAL_ERROR "${DOC} differs from what ${name} prints:\n${printed}")
endif()
