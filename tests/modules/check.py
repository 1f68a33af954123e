#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check.py ROOT [--print]: who includes whom.

Computes the graph of modules from the #include lines and compares it with the picture in
docs/architecture.md: the same modules, the same arrows (an arrow that follows from others may be
left out there), no cycle; and no module includes a private header of another one. What modules
share is in include/porter (public) and src/shared."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
PUBLIC = re.compile(r'#include "porter/(\w+)/\w+\.hpp"')
OTHER = re.compile(r'#include "(\w+)/(\w+\.hpp)"')


def sources(module):
    for folder in root / "src" / module, root / "src/shared" / module, root / "include/porter" / module:
        yield from folder.rglob("*.[ch]pp")


def included(module, modules):
    """The other modules whose public headers it includes, and the private headers of others."""
    public, private = set(), []
    for path in sources(module):
        for line in path.read_text().splitlines():
            if match := PUBLIC.match(line):
                public.add(match[1])
            elif (match := OTHER.match(line)) and match[1] != "porter":
                public.add(match[1])
                if not (root / "src/shared" / match[1] / match[2]).exists():
                    private.append(f"{path.relative_to(root)}: {line}")
    return public - {module}, private


def closure(graph):
    """All that can be reached; a module that reaches itself is on a cycle."""
    reached = {module: set(targets) for module, targets in graph.items()}
    changed = True
    while changed:
        changed = False
        for module in reached:
            more = set().union(*(reached[t] for t in reached[module])) - reached[module]
            if more:
                reached[module] |= more
                changed = True
    return reached


def drawn():
    """The picture of the document: lines "name  what it is  ─► a, b"."""
    text = (root / "docs/architecture.md").read_text()
    graph = {}
    for line in text.split("```")[1].splitlines():
        name = re.match(r"(\w+) ", line)
        if name and not line.startswith("tools"):
            arrow = line.split("─►")
            graph[name[1]] = set(re.findall(r"\w+", arrow[1])) if len(arrow) > 1 else set()
    return graph


modules = sorted(folder.name for folder in (root / "src").iterdir()
                 if folder.is_dir() and folder.name != "shared")
graph, foreign = {}, []
for module in modules:
    graph[module], private = included(module, modules)
    foreign += private
if "--print" in sys.argv:
    for module in modules:
        print(f"{module:<10} -> {', '.join(sorted(graph[module])) or '(nothing)'}")

problems = [f"foreign private header: {line}" for line in foreign]
reached = closure(graph)
problems += [f"{module} is on a cycle" for module in modules if module in reached[module]]
picture = drawn()
problems += [f"docs/architecture.md does not show {m}" for m in modules if m not in picture]
problems += [f"docs/architecture.md shows {m}, which is no module" for m in picture if m not in modules]
allowed = closure({m: targets & set(modules) for m, targets in picture.items()})
for module in modules:
    problems += [f"{module} includes {t}, which docs/architecture.md does not allow"
                 for t in sorted(graph[module] - allowed.get(module, set()))]
    problems += [f"docs/architecture.md draws {module} ─► {t}, which nothing includes"
                 for t in sorted(picture.get(module, set()) - graph[module])]
print("\n".join(problems) if problems else f"{len(modules)} modules, as drawn")
sys.exit(bool(problems))
