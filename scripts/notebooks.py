"""Run ``docs/notebook.ipynb`` from top to bottom; ``--write`` keeps what its cells show in the file.

The cells run in one namespace, in order, in a folder of their own, as a kernel would run them; what the last expression
of a cell shows is its HTML, picture or text. No Jupyter is needed.
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from PIL import Image

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"
Cell = dict[str, Any]


def read(path: Path = NOTEBOOK) -> dict[str, Any]:
    """A notebook as it stands in its file."""
    return json.loads(path.read_text(encoding="utf-8"))


def execute(notebook: dict[str, Any]) -> list[Cell]:
    """The cells with what they show now; an exception in one of them goes to the caller."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells: list[Cell] = []
    count = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, {"GFSCORE_STORE": f"{folder}/store", "NO_COLOR": "1"}),
    ):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cells.append({**cell, "execution_count": count, "outputs": _outputs(source(cell), namespace, count)})
            else:
                cells.append(cell)
    return cells


def source(cell: Cell) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def _outputs(code: str, namespace: dict[str, Any], count: int) -> list[Cell]:
    body = ast.parse(code).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    shown = None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), f"cell {count}", "exec"), namespace)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), namespace)
    outputs: list[Cell] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if shown is not None:
        data = display(shown)
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return outputs


def display(shown: Any) -> dict[str, Any]:
    """What a notebook shows of a value: HTML, a picture of a chart, or else its text."""
    if hasattr(shown, "_repr_html_"):
        return {"text/html": _lines(shown._repr_html_()), "text/plain": _lines(repr(shown))}
    if hasattr(shown, "to_dict") and hasattr(shown, "save"):  # an Altair chart
        drawn, picture = io.BytesIO(), io.BytesIO()
        shown.save(drawn, format="png", scale_factor=1.5)
        Image.open(drawn).convert("RGB").quantize(32).save(picture, format="png", optimize=True)  # small enough to keep
        text = base64.b64encode(picture.getvalue()).decode()
        return {"image/png": text, "text/plain": ["a chart"]}
    return {"text/plain": _lines(repr(shown))}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def markdown(cells: list[Cell]) -> str:
    """A page of the site that shows the cells and what came of them."""
    parts = []
    for cell in cells:
        if cell["cell_type"] == "markdown":
            parts.append(source(cell))
            continue
        parts.append(f"```python\n{source(cell)}\n```")
        parts += [_output(each) for each in cell["outputs"]]
    return "\n\n".join(parts)


def _output(output: Cell) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    if "text/html" in data:
        rows = (line.strip() for line in data["text/html"])  # an indented or empty line would end the HTML
        return f'<div class="shown">{"".join(row for row in rows if row)}</div>'
    if "image/png" in data:
        return f'<img alt="The chart that this cell shows" src="data:image/png;base64,{data["image/png"]}">'
    return f"```text\n{''.join(data['text/plain'])}\n```"


def main() -> None:
    """Run the notebook, and keep what it shows if asked to."""
    notebook = read()
    cells = execute(notebook)
    if "--write" in sys.argv[1:]:
        NOTEBOOK.write_text(json.dumps({**notebook, "cells": cells}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{sum(cell['cell_type'] == 'code' for cell in cells)} cells ran.")


if __name__ == "__main__":
    main()
