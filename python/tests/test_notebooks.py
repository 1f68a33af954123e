# SPDX-License-Identifier: Apache-2.0
"""Every notebook runs from its first cell to its last, and can be shown."""
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="python3-nbformat is not installed")
nbconvert = pytest.importorskip("nbconvert", reason="python3-nbconvert is not installed")
pytest.importorskip("ipykernel", reason="python3-ipykernel is not installed")
from nbconvert.preprocessors import ExecutePreprocessor  # noqa: E402

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NEEDS = {"3_own_pytorch_model": "torch"}
pytestmark = pytest.mark.filterwarnings("ignore:.relax_add_props:DeprecationWarning")  # nbconvert's own


def outputs(book):
    return [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]


def test_there_are_notebooks():
    assert len(list(FOLDER.glob("*.ipynb"))) == 4


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.ipynb")))
def test_runs(name, tmp_path):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"python3-{NEEDS[name]} is not installed")
    book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(book)
    assert not outputs(book), "it is kept without outputs"
    ExecutePreprocessor(timeout=300, kernel_name="python3").preprocess(book, {"metadata": {"path": str(tmp_path)}})
    found = outputs(book)
    assert found and not [output for output in found if output.output_type == "error"]
    page, _ = nbconvert.HTMLExporter().from_notebook_node(book)
    assert "<html" in page and "Traceback" not in page
    assert not list(tmp_path.iterdir()), "it leaves nothing behind"
