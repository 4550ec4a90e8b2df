"""Other people's ONNX files: how many of a folder are imported, and whether products are right.

Every file below FOLDER is imported without an option. Multiply-accumulates are held against a count
that shares no code with the importer: shapes by ``onnx.shape_inference``, in which operators that
ONNX does not know pass on the shape of their first input.
"""

from __future__ import annotations

import re
import sys
import warnings
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from time import process_time

import onnx

from results.shared.page import BEGIN, END, environment, markdown, replace_tables, where
from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import import load_onnx
from spmopt.graph.statistics import macs

PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
DOMAINS = ("", "ai.onnx")
Shapes = Mapping[str, Sequence[int]]


def counted(path: Path) -> int | None:
    """Count multiply-accumulates from the file itself; None where a shape is not known."""
    model = onnx.load(path)
    for node in model.graph.node:
        if node.input and not (node.domain in DOMAINS and onnx.defs.has(node.op_type, "")):
            del node.input[1:], node.attribute[:], node.output[1:]
            node.op_type, node.domain = "Identity", ""
    try:
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return None
    graph = model.graph
    shapes: dict[str, tuple[int, ...]] = {each.name: tuple(each.dims) for each in graph.initializer}
    for each in (*graph.input, *graph.output, *graph.value_info):
        if each.type.tensor_type.HasField("shape"):
            shapes[each.name] = tuple(d.dim_value for d in each.type.tensor_type.shape.dim)
    products = [node for node in graph.node if node.op_type in PRODUCTS]
    found = [_product(node, shapes) for node in products]
    return None if None in found else sum(filter(None, found))


def _product(node: onnx.NodeProto, shapes: Shapes) -> int | None:
    """Multiply-accumulates of one node."""
    needed = [*node.input[:2], node.output[0]]
    if any(name not in shapes or 0 in shapes[name] for name in needed):
        return None
    a, b, y = (shapes[name] for name in needed)
    if node.op_type == "Conv":
        return prod(y) * prod(b[1:])
    if node.op_type == "ConvTranspose":
        return prod(a) * prod(b[1:])
    if node.op_type == "Gemm":
        flags = {each.name: each.i for each in node.attribute}
        return prod(y) * a[-2 if flags.get("transA") else -1]
    return prod(y) * a[-1]


def measure(path: Path) -> dict[str, object]:
    """Import one file; a refusal is a text."""
    begin = process_time()
    told: list[str] = []
    try:
        graph = load_onnx(path, warn=told.append)
    except InputError as error:
        return {"outcome": str(error).partition(": ")[2], "cpu_s": process_time() - begin}
    found = {"outcome": "", "cpu_s": process_time() - begin, "macs": macs(graph)}
    return {**found, "counted": counted(path), "operations": len(graph.nodes)}


def table(found: Mapping[str, dict[str, object]]) -> str:
    """Write the counts, what is refused, and the files whose products differ."""
    imported = {name: row for name, row in found.items() if not row["outcome"]}
    checked = {name: row for name, row in imported.items() if row["counted"] is not None}
    off = {name: row for name, row in checked.items() if row["counted"] != row["macs"]}
    with_products = [row for row in checked.values() if row["counted"]]
    seconds = [float(str(row["cpu_s"])) for row in found.values()]
    counts = {
        "files": len(found),
        "imported without an option": len(imported),
        "refused": len(found) - len(imported),
        "multiply-accumulates compared": len(checked),
        "of these with products": len(with_products),
        "multiply-accumulates differ": len(off),
        "CPU seconds, all": f"{sum(seconds):.1f}",
        "CPU seconds, slowest": f"{max(seconds, default=0):.2f}",
    }
    parts = [markdown(["", ""], [[name, str(count)] for name, count in counts.items()])]
    refused = Counter(
        re.sub(r"\bnode \S+ ", "", str(row["outcome"])) for row in found.values() if row["outcome"]
    )
    parts += [f"* refused, {count}: {why}" for why, count in refused.most_common()]
    parts += [
        f"* {name}: {row['macs']:,} multiply-accumulates, counted {row['counted']:,}"
        for name, row in off.items()
    ]
    return "\n\n".join(parts[:1] + ["\n".join(parts[1:])] * bool(parts[1:]))


def main() -> int:
    """Import all files below a folder; write the page, or print."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a collection of .onnx files")
    parser.add_argument("--title", help="write the page, with this name of the collection")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {
        str(path.relative_to(given.folder)): measure(path)
        for path in sorted(given.folder.rglob("*.onnx"))
    }
    text = table(found)
    if given.title:
        head = f"{given.title}.\n\n{text}\n\n{where(environment())}"
        page = Path(__file__).parent / "README.md"
        replace_tables(page, f"{BEGIN}\n\n{head}\n\n{END}")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
