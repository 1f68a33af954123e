// SPDX-License-Identifier: Apache-2.0
#include "svg.hpp"

#include <fmt/format.h>

#include <array>

#include "report/text.hpp"

namespace porter {
namespace {

// The light colours of the page, without variables, which not every reader of SVG knows.
constexpr std::array<const char*, kColours> kInks = {"#0072b2", "#d55e00", "#00875f", "#b4558f",
                                                     "#b07d00", "#2f9bd6", "#4a4f57"};
constexpr std::array<const char*, kDashes> kPatterns = {"none", "8 3", "3 2", "9 3 2 3",
                                                        "12 3 2 3 2 3"};

std::string style() {
  std::string css =
      "text{fill:#1c2430;font:12.5px Helvetica,Arial,sans-serif}"
      ".head{font-size:15px;font-weight:bold}.tick,.reference-label{fill:#5a6675;font-size:12px}"
      ".grid,.axis,.line,.reference,.cross,.whisker,.spread{fill:none}.grid{stroke:#e9ecf0}"
      ".axis{stroke:#5a6675}.line{stroke-width:2;stroke-linejoin:round}.cross{stroke-width:2.5}"
      ".reference{stroke:#5a6675;stroke-width:1.5;stroke-dasharray:7 5}.band{opacity:0.14}"
      ".bar{fill:#0072b2;opacity:0.7}.whisker{stroke:#1c2430;stroke-width:1.5}";
  for (std::size_t i = 0; i < kColours; ++i)
    css += fmt::format(
        ".line.c{0},.cross.c{0},.spread.c{0},.mark.companion.c{0}{{stroke:{1}}}.mark.c{0},.band.c{"
        "0}{{fill:{1}}}",
        i, kInks[i]);
  for (std::size_t i = 1; i < kDashes; ++i)
    css += fmt::format(".line.d{}{{stroke-dasharray:{}}}", i, kPatterns[i]);
  return css +
         ".line.companion{stroke-width:1.4;stroke-dasharray:1.5 2.5}"
         ".mark.companion{fill:#ffffff;stroke-width:1.6}.spread{stroke-width:1.5;opacity:0.6}";
}

}  // namespace

std::string style_classes(const Series& series) {
  const auto colour = series.style % kColours;
  return series.companion ? fmt::format("c{} companion", colour)
                          : fmt::format("c{} d{}", colour, series.style % kDashes);
}

std::string svg_text(const char* style, double x, double y, const char* anchor,
                     std::string_view text) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                     style, x, y, anchor, escape_html(text));
}

std::string svg_side_title(double y, std::string_view text) {
  return fmt::format(
      "<text class=\"title\" transform=\"translate(14 {:.1f}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>\n",
      y, escape_html(text));
}

std::string svg_document(const std::string& title, const SvgLegend& legend,
                         const std::string& drawing, double width, double height) {
  const double top = kSvgTitle + legend.height;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0} {1:.0f}\">\n<style>{2}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text class=\"head\" x=\"16\" y=\"24\">{3}</text>\n{4}"
      "<svg x=\"0\" y=\"{5:.0f}\" width=\"{0}\" height=\"{6:.0f}\">\n{7}</svg>\n</svg>\n",
      width, top + height, style(), escape_html(title), legend.svg, top, height, drawing);
}

}  // namespace porter
