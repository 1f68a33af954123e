#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""follow.py ROOT BUILD: does literally what docs/extending.md says, and tries what comes out.

New files and changed copies of old ones are compiled as the build compiles their neighbours and
linked before the library, whose own members for these files are then not taken."""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

root, build = map(lambda path: pathlib.Path(path).resolve(), sys.argv[1:3])
CONFIG = """
data = {name = "synthetic"}
network = {agents = 6, graph = "wheel", mixing = "timid"}
model = {name = "hinge"}
algorithm = {name = "porter-gc", rounds = 20, compressor = "upper"}
"""


def blocks():
    """(file, where or nothing, text) of each block of the document."""
    text = (root / "docs/extending.md").read_text()
    for block in re.findall(r"```cpp\n// (src/.*?)```", text, re.S):
        head, body = block.split("\n", 1)
        file, _, where = head.partition(", in ")
        yield file, where, body


def added(text, where, body):
    """With the body at the end of a table, or of the namespace."""
    if where.startswith("namespace "):
        end = text.index(f"}}  // {where}")
    else:
        start = re.search(rf"\b{where}\b.*?= \{{", text, re.S).end()
        end = start + re.search(r"^ *\};", text[start:], re.M).start()
    return text[:end] + body + text[end:]


def write_changes(folder):
    """The files of the document, in folders like those of the tree; returns the sources."""
    changed = {}
    for file, where, body in blocks():
        old = changed.get(file) or (root / file).read_text() if where else ""
        changed[file] = added(old, where, body) if where else body
    for file, text in changed.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [file for file in changed if file.endswith(".cpp")]


def module_of(file):
    return pathlib.PurePath(file).parts[1]


def compile_all(folder, sources):
    commands = json.loads((build / "compile_commands.json").read_text())
    objects = []
    for source in sources:
        file, module = str(folder / source), module_of(source)
        # As the build compiles the module, be it file by file or several at once.
        words = shlex.split(next(entry["command"] for entry in commands
                                 if f"/porter_{module}.dir/" in entry["command"]))
        objects.append(file + ".o")
        words[words.index("-o") + 1] = objects[-1]
        words[words.index("-c") + 1] = file
        # A changed header stands beside the sources that include it.
        subprocess.run(words + ["-O1", "-Werror"], cwd=build, check=True)
    return objects


def link(objects, program):
    commands = subprocess.run(["ninja", "-t", "commands", "porter_cli"], cwd=build, check=True,
                              capture_output=True, text=True).stdout
    words = shlex.split(commands.strip().splitlines()[-1])
    words = words[words.index("&&") + 1:]
    words = words[:words.index("&&")]
    words[words.index("-o") + 1] = str(program)
    at = words.index("libporter.a")
    subprocess.run(words[:at] + objects + words[at:], cwd=build, check=True)


def answer(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    sources = write_changes(folder)
    program = folder / "porter"
    link(compile_all(folder, sources), program)
    for kind, row in ("models", "hinge"), ("compressors", "upper"), ("algorithms", "two-steps"), \
                     ("graphs", "wheel"), ("mixings", "timid"):
        if row not in answer(program, "list", kind):
            sys.exit(f"porter list {kind} does not show {row}")
    config = folder / "config.toml"
    config.write_text(CONFIG)
    print(answer(program, "run", str(config), "--out", str(folder / "one")))
    answer(program, "run", str(config), "--out", str(folder / "two"), "--set",
           "algorithm.name=two-steps", "--set", "algorithm.compressor=identity", "--set", "network.mixing=fdla")
