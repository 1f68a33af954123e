# SPDX-License-Identifier: Apache-2.0
"""Configs from what people have: a file, TOML text, a dictionary, keywords."""
import os
from collections.abc import Mapping

from . import _core
from ._errors import UsageError


def _value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + escaped.replace("\n", "\\n") + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    if isinstance(value, os.PathLike):
        return _value(os.fspath(value))
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    if isinstance(value, (int, float)):
        return repr(value)
    raise UsageError(f"expected a number, a text, a truth value or a list, found {value!r}")


def to_toml(config):
    """A dictionary of sections as TOML: `{"algorithm": {"step": 0.1}}` or `{"algorithm.step": 0.1}`."""
    sections = {}
    for name, keys in config.items():
        if isinstance(keys, Mapping):
            sections.setdefault(name, {}).update(keys)
        elif "." in name:
            section, key = name.split(".", 1)
            sections.setdefault(section, {})[key] = keys
        else:
            raise UsageError(f"{name}: expected a section, a dictionary of its keys, or \"section.key\"")
    return "".join(
        f"[{section}]\n" + "".join(f"{key} = {_value(value)}\n" for key, value in keys.items() if value is not None)
        for section, keys in sections.items())


def _overrides(settings):
    out = []
    for key, value in (settings or {}).items():
        if "." not in key:
            raise UsageError(f"{key}: expected \"section.key\"")
        out.append(f"{key}={_value(value)}")
    return out


def make_config(config, settings=None):
    """A checked config. `config`: a file's path, TOML text, a dictionary; `settings` win over it."""
    overrides = _overrides(settings)
    if isinstance(config, _core.Config):
        return _core.parse_config(config.to_toml(), "config", overrides) if overrides else config
    if config is None:
        config = {}
    if isinstance(config, Mapping):
        return _core.parse_config(to_toml(config), "config", overrides)
    if isinstance(config, os.PathLike) or (isinstance(config, str) and "\n" not in config and "=" not in config):
        return _core.load_config(os.fspath(config), overrides)
    if isinstance(config, str):
        return _core.parse_config(config, "config", overrides)
    raise UsageError(f"config: expected a path, TOML text or a dictionary, found {type(config).__name__}")
