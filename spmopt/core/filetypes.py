"""Kind of a file in words, for errors about files of another kind."""

from __future__ import annotations

from pathlib import Path

from spmopt.core.validation import is_file, is_folder

SQLITE = b"SQLite format 3\0"
"""How a database begins."""
_BEGINS = {
    SQLITE: "is the storage of a search, which 'spmopt tune show --storage' shows",
    b'# {"format": "spmopt-sweep"': "holds rows of a sweep, which 'spmopt plot' and 'spmopt "
    "report' show",
    b"id,lower,upper,size": "holds buffers, which 'spmopt allocate' places",
}
_JSON = {
    b'"spmopt-result"': "is a result file, which 'spmopt verify' and 'spmopt explain' take",
    b'"spmopt-instance"': "is a problem, which 'spmopt solve' and 'spmopt compare' take",
}
_SUFFIXES = {
    ".csv": "is a CSV file",
    ".html": "is a page",
    ".pt2": "is a program of torch, which 'spmopt solve' and 'spmopt compare' take",
    ".onnx": "is a network (ONNX), which 'spmopt solve' and 'spmopt compare' take",
    ".toml": "is a TOML file, as a machine (--machine) and the space of a search (--space) are",
    **dict.fromkeys((".png", ".svg", ".pdf"), "is a picture"),
    ".tflite": "is a TFLite model, which is not read; convert it to ONNX (as tf2onnx does)",
    ".mlir": "is an MLIR module, which is not read; export the model as ONNX",
    **dict.fromkeys(
        (".pt", ".pth"), "is a file of torch; export the model as ONNX, or as a program (.pt2)"
    ),
    ".pb": "is a TensorFlow graph, which is not read; convert it to ONNX (as tf2onnx does)",
}
_HEAD = 4096
"""Bytes that are looked at."""


def kind_of_file(path: Path, *, json: bool = True) -> str:
    """Return the kind of a file, as the end of a sentence that begins with its name.

    Parameters
    ----------
    path
        Of a file or a folder.
    json
        Also recognize the kind of a JSON file; else that is unknown.

    Returns
    -------
    str
        Empty where there is no such file, or nothing is known of it.
    """
    if is_folder(path):
        return "is a folder"
    if not is_file(path):
        return ""  # bytes read from a pipe are gone
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, ValueError):
        return ""
    for mark, kind in _BEGINS.items():
        if head.startswith(mark):
            return kind
    # Before the ending: a result file may have any name.
    if head.lstrip()[:1] in (b"{", b"["):
        other = "is a JSON file" * (path.suffix.lower() == ".json")
        return next((kind for mark, kind in _JSON.items() if mark in head), other) if json else ""
    return _SUFFIXES.get(path.suffix.lower(), "")
