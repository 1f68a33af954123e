#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cpp_check.py PORTER COMPILER: exported headers compile without a warning, two of them together, and predict what
`porter predict` does; what it refuses throws."""
import math
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from models import Workshop, all_models, refused_records

TOLERANCE = 1e-12
# As they become members: in the order of the schema, made identifiers, without a collision.
MEMBERS = {"age": "age", "größe, \"cm\" ?": "gr_e_cm", "class": "class_2", "label": "label", "2 b": "column_2_b",
           "2_b": "column_2_b_2", "town": "town"}


def literal(value):
    if value is None:
        return "std::nan(\"\")"
    if isinstance(value, str):
        return "\"" + "".join(f"\\{byte:03o}" for byte in value.encode()) + "\""
    return repr(value) if math.isfinite(value) else f"{'-' if value < 0 else ''}HUGE_VAL"


def record_of(trained, row):
    if not trained.schema:
        return "{" + ", ".join(f"{x!r}f" for x in row) + "}"
    return "{" + ", ".join(literal(row[name]) for name in MEMBERS) + "}"


def program(trained, header, refused):
    space, kind = header.stem, "Record" if trained.schema else "Features"
    rows = ",\n".join(record_of(trained, row) for row in trained.records)
    bad = ",\n".join(record_of(trained, row) for row in refused)
    classes = f'std::printf("%.*s", int({space}::predict(r).size()), {space}::predict(r).data()); ' \
              f'for (double p : {space}::probabilities(r)) std::printf("\\t%.17g", p);'
    numbers = f'for (double y : all({space}::predict(r))) std::printf("\\t%.17g", y);'
    members = "\n".join(f"  named.{member} = {{}};" for member in MEMBERS.values()) if trained.schema else ""
    return f"""#include "{header.name}"
#include <cstdio>
[[maybe_unused]] static std::vector<double> all(double y) {{ return {{y}}; }}
[[maybe_unused]] static std::vector<double> all(std::vector<double> y) {{ return y; }}
int main() {{
  static const {space}::{kind} rows[] = {{{rows}}};
  for (const auto& r : rows) {{ {numbers if trained.regression() else classes} std::printf("\\n"); }}
  static const {space}::{kind} bad[] = {{{bad}}};
  for (const auto& r : bad) {{
    try {{ {space}::predict(r); std::printf("accepted\\n"); }}
    catch (const std::invalid_argument& e) {{ std::printf("refused\\n"); }}
  }}
  {space}::{kind} named;
{members}
  (void)named;
}}
"""


def compile_and_run(source, folder, compiler):
    (folder / "main.cpp").write_text(source)
    subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-ffp-contract=off",
                    "main.cpp", "-o", "main"], cwd=folder, check=True)
    return subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()


def check(trained, compiler):
    folder = trained.workshop.folder
    header = trained.export("header")
    refused = [row for _, row in refused_records(trained.workshop.rng)] if trained.schema else [[0.0], []]
    lines = compile_and_run(program(trained, header, refused), folder, compiler)
    expected = trained.answers(trained.predictions())
    assert lines[len(expected):] == ["refused"] * len(refused), (trained.name, lines[len(expected):])
    largest = 0
    for line, (name, values) in zip(lines, expected):
        label, *numbers = line.split("\t")
        assert label == (name or ""), (trained.name, label, name)
        assert len(numbers) == len(values)
        largest = max([largest] + [abs(float(a) - b) / max(1, abs(b)) for a, b in zip(numbers, values)])
    assert largest <= TOLERANCE, (trained.name, largest)
    return header, largest


with tempfile.TemporaryDirectory() as folder:
    shop = Workshop(sys.argv[1], folder)
    headers = []
    for trained in all_models(shop):
        header, difference = check(trained, sys.argv[2])
        headers.append(header.name)
        print(f"{trained.name:<16} {difference:.1e}")
    together = "".join(f'#include "{name}"\n' for name in headers)
    compile_and_run(together + "int main() {}\n", shop.folder, sys.argv[2])
