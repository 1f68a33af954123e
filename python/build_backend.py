# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of porterdp with CMake: a PEP 517 backend that needs nothing but Debian's packages."""
import base64
import hashlib
import io
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "porterdp"
METADATA = """Metadata-Version: 2.1
Name: porterdp
Version: {version}
Summary: Decentralised training with compressed messages, clipping and a privacy guarantee that is true
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
"""


def _version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return text.split("project(porter VERSION ", 1)[1].split()[0]


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _call(*command):
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if found.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{found.stdout[-4000:]}")


def _compiled():
    """The compiled part, made for the interpreter that asks; PORTER_WHEEL_CORE names one that is there."""
    if "PORTER_WHEEL_CORE" in os.environ:
        return Path(os.environ["PORTER_WHEEL_CORE"])
    build = ROOT / "build" / f"wheel-{_tag()}"
    _call("cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release", "-DPORTER_UNITY=ON",
          "-DPORTER_TESTS=OFF", "-DPORTER_TOOLS=OFF", "-DPORTER_MPI=OFF", "-DPORTER_PYTHON=ON",
          f"-DPython3_EXECUTABLE={sys.executable}")
    _call("cmake", "--build", str(build), "--target", "porter_python")
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    return build / "python" / NAME / f"_core{suffix}"


def _members():
    for file in sorted((ROOT / "python" / NAME).iterdir()):
        if file.suffix in (".py", ".pyi", ".typed") or file.name == "py.typed":
            yield f"{NAME}/{file.name}", file.read_bytes()
    compiled = _compiled()
    yield f"{NAME}/{compiled.name}", compiled.read_bytes()


def _record(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info = f"{NAME}-{_version()}.dist-info"
    texts = {
        f"{info}/METADATA": METADATA.format(version=_version()).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: porter\nRoot-Is-Purelib: false\nTag: {_tag()}\n".encode(),
        f"{info}/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    file = f"{NAME}-{_version()}-{_tag()}.whl"
    records = ""
    path = Path(wheel_directory) / file
    path.parent.mkdir(parents=True, exist_ok=True)
    members = [*_members(), *texts.items()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in members:
            wheel.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
            records += _record(name, content)
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", (2026, 1, 1, 0, 0, 0)), records + f"{info}/RECORD,,\n")
    return file


def build_sdist(sdist_directory, config_settings=None):
    folder = f"{NAME}-{_version()}"
    file = f"{folder}.tar.gz"
    with tarfile.open(Path(sdist_directory) / file, "w:gz") as archive:
        for part in ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "cmake", "experiments", "include", "python",
                     "src"):
            archive.add(ROOT / part, f"{folder}/{part}", filter=lambda m: None if "__pycache__" in m.name else m)
        content = METADATA.format(version=_version()).encode()
        info = tarfile.TarInfo(f"{folder}/PKG-INFO")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return file


if __name__ == "__main__":
    print(Path(sys.argv[1]) / build_wheel(sys.argv[1]))
