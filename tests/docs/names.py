#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""names.py ROOT: what the documents put in backticks is there.

Paths of the tree, headers, types and functions of the code, and keys of the config."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
FOLDERS = "src", "include", "tools", "tests", "examples", "bench", "experiments", "docs", "cmake"


def all_text(*patterns):
    return "\n".join(path.read_text(errors="replace") for pattern in patterns for path in sorted(root.glob(pattern)))


code = all_text("src/**/*.[ch]pp", "python/**/*.[ch]pp", "python/**/*.py", "include/**/*.hpp", "tools/**/*.[ch]pp", "tests/**/*.[ch]pp", "tests/**/*.py",
                "bench/**/*.[ch]pp", "bench/**/*.py", "examples/*.cpp", "cmake/*", "CMakeLists.txt", "*/CMakeLists.txt")
words = set(re.findall(r"\w+", code))
sections = re.split(r"^## \[(\w+)", all_text("docs/config.md"), flags=re.M)[1:]
keys = {f"{section}.{key}" for section, text in zip(sections[::2], sections[1::2])
        for key in re.findall(r"^\| `?(\w+)`? \|", text, re.M)}
keys |= {"agent." + key for key in re.findall(r'"(\w+)"', all_text("src/agent/agent_options.cpp"))}


def is_there(name):
    plain = name.split()[0].rstrip("/").split("(")[0].split("=")[0]
    folder = plain.split("/")[0]
    if "/" in plain and folder in (*FOLDERS, "porter") or re.fullmatch(r"\w+\.(hpp|cpp|py)", plain):
        if re.search(r"[A-Z]{2,}|<|\*", plain):  # a pattern
            return True
        places = [root / base / plain for base in ("", "include", "src/shared")] + [root / f"{plain}.cpp"]
        return any(place.exists() for place in places) or "/" not in plain and any(root.glob(f"*/**/{plain}"))
    if re.fullmatch(r"(data|network|model|algorithm|privacy|run|agent)\.[a-z_]+", plain):
        return plain in keys or plain.split(".")[1] in ("json", "npz")
    if re.fullmatch(r"[A-Za-z_]\w*(::~?\w+)+", plain) or re.fullmatch(r"(?:[A-Z][a-z0-9]+){2,}", plain):
        return all(part in words for part in plain.split("::") if part not in ("std", "porter"))
    if name.endswith("()"):
        return plain.split(".")[-1] in words
    return True


problems = []
for document in sorted([*root.glob("docs/*.md"), *root.glob("*.md")]):
    prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.S)
    for name in re.findall(r"`([^`\n]+)`", prose):
        if not is_there(name.strip()):
            problems.append(f"{document.relative_to(root)}: `{name}` is not there")
print("\n".join(problems) if problems else "every name is there")
sys.exit(bool(problems))
