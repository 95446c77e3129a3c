"""The example notebook and the code of the page about it, run against a server."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

import deniable_analysis as da

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "analysis.ipynb"
PAGE = ROOT / "docs" / "analysis" / "getting-numbers-out.md"


@pytest.fixture
def place(monkeypatch, tmp_path, url, deployment):
    """An empty folder, and variables that name the server."""
    monkeypatch.setenv("DENIABLE_SERVER", url)
    monkeypatch.setenv("DENIABLE_TOKEN", deployment.read)
    monkeypatch.delenv("DENIABLE_PROFILE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.statistics
def test_the_code_of_the_page_runs(place, opened, monkeypatch):
    monkeypatch.setattr(da, "connect", lambda: opened)  # a server would start processes
    names = {}
    section = PAGE.read_text("utf-8").partition("\n## Notebooks\n")[2].partition("\n## ")[0]
    for code in re.findall(r"(?ms)^```python\n(.*?)^```$", section):
        exec(compile(code, str(PAGE), "exec"), names)
    assert isinstance(names["s"], da.Result)
    assert names["change"]["dark"].told
    assert (place / "startup.parquet").stat().st_size
    assert "<script" not in (place / "week.html").read_text("utf-8")


@pytest.mark.service
def test_the_example_notebook_runs_from_top_to_bottom(place):
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": place}}).execute()
    shown = [
        "".join(str(output.get("data", "")) for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    assert all(shown)
    assert "partner" in shown[1]
    assert "Chrome leads with" in shown[3]
    assert "dark rose from" in shown[4]
    assert (place / "october.parquet").stat().st_size
    assert "wrote week.html" in shown[-1]
    errors = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.output_type == "error" or output.get("name") == "stderr"
    ]
    assert errors == []


def test_the_example_notebook_is_stored_without_outputs():
    """Outputs would be out of date, and hold what somebody's server answered."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
