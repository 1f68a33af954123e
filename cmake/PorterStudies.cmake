# SPDX-License-Identifier: Apache-2.0
# The experiment files become part of the library, so that the command finds them anywhere. Those are
# the files of experiments/ that have a `kind`; the others are plain configs.
file(GLOB porter_experiments CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/experiments/*.toml)
set(porter_study_list "")
foreach(file ${porter_experiments})
  file(STRINGS ${file} kind REGEX "^kind *=" LIMIT_COUNT 1)
  if(kind)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND porter_study_list "      {\"${name}\", R\"toml(${text})toml\"},\n")
  endif()
endforeach()
configure_file(cmake/study_files.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/study_files.cpp @ONLY)
target_sources(porter_reproduce PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/study_files.cpp)
