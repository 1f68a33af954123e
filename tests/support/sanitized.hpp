// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace porter {

/// Whether a sanitizer watches: the code is 10 to 30 times slower, so long tests take a part.
#ifdef PORTER_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace porter
