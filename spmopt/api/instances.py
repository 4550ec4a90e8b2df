"""From a network and a machine to an instance, as the command line reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from warnings import warn

from spmopt.cli.inputs import load_instance
from spmopt.cli.options import Changes, Source
from spmopt.core.instance import Instance
from spmopt.hardware.settings import Setting


def instance(
    network: str | Path,
    *,
    training: bool = False,
    batch: int | None = None,
    optimizer: str | None = None,
    parameters: Mapping[str, int] | None = None,
    assume_pointwise: bool = False,
    lowering: str | None = None,
    machine: str | Path | None = None,
    spm: str | None = None,
    bandwidth: str | None = None,
    settings: Mapping[str, Setting] | None = None,
    bank: Sequence[str] = (),
) -> Instance:
    """Read or build an instance.

    Parameters
    ----------
    network
        A name of ``spmopt networks``, an ONNX file, or an instance as JSON.
    training, batch, optimizer, parameters, assume_pointwise
        Of the network: one training step, sizes, ``sgd``, ``momentum`` or ``adam``.
    lowering
        ``tiled`` (default) or ``ideal``.
    machine
        A name of ``spmopt machines``, or a TOML file; default: rtx2080ti.
    spm, bandwidth
        In place of the machine's own, as ``"24MB"``, ``"616GB/s"``.
    settings
        Any others of a machine file, as ``{"energy.mac_pj": 1.5, "duplex": "true"}``.
    bank
        Parts of the scratchpad with technologies of their own, as ``"2MB:nvsim-sram"``.

    Raises
    ------
    InputError
        A network, file, machine or setting that cannot be used; one line says why.
    """
    source = Source(
        network=str(network),
        training=training,
        batch=batch,
        optimizer=optimizer,
        param=[f"{name}={value}" for name, value in (parameters or {}).items()],
        assume_pointwise=assume_pointwise,
        lowering=lowering,
        machine=None if machine is None else str(machine),
        changes=Changes(
            spm=spm,
            bandwidth=bandwidth,
            set=[f"{key}={value}" for key, value in (settings or {}).items()],
        ),
        bank=list(bank),
    )
    return load_instance(source, lambda message, part: None, _warn)


def _warn(message: str) -> None:
    warn(message, stacklevel=4)
