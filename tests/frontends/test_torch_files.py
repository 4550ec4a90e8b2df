"""Files of torch that are broken, too large or would run code: one line, and nothing runs."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed (spmopt[test-torch])")
pytest.importorskip("onnxscript", reason="onnxscript is not installed (spmopt[test-torch])")

from spmopt.core.errors import InputError  # noqa: E402
from spmopt.frontends.torch_import import load_torch  # noqa: E402
from spmopt.graph.statistics import macs  # noqa: E402


class _Runs:
    """Makes a folder where it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.folder),)


@pytest.fixture(name="program")
def _program(tmp_path: Path) -> Path:
    batch = torch.export.Dim("batch", min=1, max=64)
    shapes = ({0: batch, 2: torch.export.Dim("wide", min=8, max=99)},)
    network = torch.nn.Conv1d(2, 3, 3, stride=2)
    found = torch.export.export(network, (torch.randn(2, 2, 8),), dynamic_shapes=shapes)
    torch.export.save(found, tmp_path / "net.pt2")
    return tmp_path / "net.pt2"


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _written(path: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, held in members.items():
            archive.writestr(name, held)
    return path


def _changed(old: bytes, **changes: Any) -> bytes:
    return json.dumps(json.loads(old) | changes).encode()


def _pickled(folder: Path) -> bytes:
    held = io.BytesIO()
    torch.save((_Runs(folder),), held)
    return held.getvalue()


def _as_inputs(held: dict[str, bytes], folder: Path) -> None:
    held["net/data/sample_inputs/model.pt"] = _pickled(folder)


def _as_weight(held: dict[str, bytes], folder: Path) -> None:
    name = "net/data/weights/model_weights_config.json"
    config = json.loads(held[name])["config"]
    config["weight"]["use_pickle"] = True
    held[name] = _changed(held[name], config=config)
    held[f"net/data/weights/{config['weight']['path_name']}"] = _pickled(folder)


def _as_constant(held: dict[str, bytes], folder: Path) -> None:
    name = "net/data/constants/model_constants_config.json"
    about = {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True}
    held[name] = _changed(held[name], config={"it": {**about, "tensor_meta": None}})
    held["net/data/constants/opaque_obj_0"] = pickle.dumps(_Runs(folder))


def _as_size(held: dict[str, bytes], folder: Path) -> None:
    name = "net/models/model.json"
    text = held[name].decode()
    _, _, rest = text.partition('"expr_str": "')
    sized, _, _ = rest.partition('"')
    evil = f"__import__('os').mkdir('{folder}')"
    held[name] = text.replace(f'"{sized}"', f'"{evil}"').encode()


def _as_code(held: dict[str, bytes], folder: Path) -> None:
    held["net/data/aotinductor/model/model.wrapper.so"] = b"\x7fELF"


def _as_arguments(held: dict[str, bytes], folder: Path) -> None:
    name = "net/models/model.json"
    held[name] = _changed(held[name], in_spec='[1, {"__enum__": true, "fqn": "antigravity:x"}]')


CODE: Mapping[Callable[[dict[str, bytes], Path], None], str] = {
    _as_inputs: "holds Python objects",
    _as_weight: "holds Python objects",
    _as_constant: "holds a Python object",
    _as_size: "no expression of sizes",
    _as_code: "compiled code",
    _as_arguments: "names a module",
}


@pytest.mark.parametrize("change", CODE)
def test_a_file_that_would_run_code_is_refused_and_runs_none(
    change: Callable[[dict[str, bytes], Path], None], program: Path, tmp_path: Path
) -> None:
    held = _members(program)
    change(held, tmp_path / "ran")
    path = _written(program, held)
    with pytest.raises(InputError, match=CODE[change]) as found:
        load_torch(path)
    assert "\n" not in str(found.value)
    assert not (tmp_path / "ran").exists()
    assert os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD") is None


@pytest.mark.parametrize("change", [_as_inputs, _as_size])
def test_torch_alone_would_run_it(
    change: Callable[[dict[str, bytes], Path], None], program: Path, tmp_path: Path
) -> None:
    held = _members(program)
    change(held, tmp_path / "ran")
    with pytest.raises(Exception):  # noqa: B017, PT011
        torch.export.load(_written(program, held))
    assert (tmp_path / "ran").exists()


def test_a_file_with_expressions_of_sizes_is_read_as_it_is_and_packed_anew(program: Path) -> None:
    with pytest.raises(InputError, match="1 dimension is open") as caught:
        load_torch(program, batch=4)
    (wide,) = set(re.findall(r"--param (\w+)=", str(caught.value)))
    for path in (program, _written(program, _members(program))):
        assert macs(load_torch(path, batch=4, sizes={wide: 8})) == 4 * 3 * 3 * 2 * 3


def test_what_is_broken_or_too_large_is_said(program: Path, tmp_path: Path) -> None:
    whole, held = program.read_bytes(), _members(program)
    plain = {name: text for name, text in held.items() if "models/" not in name}
    large, deep = tmp_path / "large.pt2", {**plain, "net/models/model.json": b"[" * 100_000}
    with zipfile.ZipFile(large, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("large/models/model.json", b" " * (1 << 24))
    cases = {"cut short": whole[:-30], "is damaged": whole.replace(b'"nodes"', b'"nodez"')}
    paths = {text: tmp_path / f"{len(text)}.pt2" for text in cases}
    for text, contents in cases.items():
        paths[text].write_bytes(contents)
    paths["unpacks to over"] = large
    paths["holds no program"] = _written(tmp_path / "plain.pt2", plain)
    paths["model.json is damaged"] = _written(tmp_path / "deep.pt2", deep)
    os.mkfifo(tmp_path / "pipe.pt2")
    paths["no regular file"] = tmp_path / "pipe.pt2"
    for text, path in paths.items():
        with pytest.raises(InputError, match=text) as found:
            load_torch(path)
        assert "\n" not in str(found.value)
