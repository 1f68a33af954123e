// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace porter {

/// The style sheet and the script of a report page. The script only adds a read-out under the
/// pointer; the page is complete without it.
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace porter
