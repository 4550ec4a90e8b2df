"""The parts of a machine: array, banks, technology, energies, areas, figures by element type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from math import inf

from spmopt.core.elements import element_type
from spmopt.core.errors import InputError
from spmopt.core.units import require_small

_LARGEST_FIGURE = 1e30
"""Of energies, areas and times: sums of products of these with 2**60 are numbers of a float."""

_LARGEST_RATIO, _RATIO_PARTS = 4, 10_000
"""Of bytes that move to bytes held; and the largest denominator of such a ratio."""


def require_figures(where: str, record: object, names: Iterable[str]) -> None:
    """Refuse figures that are not finite, negative, or too large to compute with; None is none."""
    for name in names:
        value = getattr(record, name)
        if value is not None and not 0 <= value < inf:
            raise InputError(f"{where}: {name} must be finite and not negative, is {value}")
        if value is not None and value > _LARGEST_FIGURE:
            raise InputError(
                f"{where}: {name} is {value}, but at most {_LARGEST_FIGURE:g} can be computed with"
            )


def require_counts(where: str, record: object, names: Iterable[str], least: int = 1) -> None:
    """Refuse whole numbers below ``least``, or too large to compute with; None is none."""
    for name in names:
        value = getattr(record, name)
        if value is not None and value < least:
            raise InputError(f"{where}: {name} must be at least {least}, is {value}")
        require_small(where, name, value or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compression:
    """Tensors of one kind that are compressed in DRAM.

    Attributes
    ----------
    kind
        A :class:`~spmopt.core.problem.TensorKind`.
    ratio
        Bytes that move over the DRAM channel per byte on chip, exact.
    """

    kind: str
    ratio: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.ratio <= _LARGEST_RATIO or self.ratio.denominator > _RATIO_PARTS:
            raise InputError(
                f"compression of {self.kind}: ratio is {float(self.ratio):g}, must be above 0, "
                f"at most {_LARGEST_RATIO}, and have four digits after the point at most"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """One memory of the scratchpad.

    Attributes
    ----------
    spm_bytes
        Size; the rest of the last page is not used.
    read_pj_per_byte, write_pj_per_byte
        Dynamic energy in picojoules, whoever reads or writes.
    leakage_w
        Power in watts, idle or not.
    read_bytes_per_s, write_bytes_per_s
        Rates of its port, which reads and writes one after the other; None where it is never slow.
    technology, source
        Its name, and the source of its figures; for people.
    area_mm2
        Square millimeters, if known.
    retention_ns
        How long contents last since they were written; None: as long as they are needed.
    """

    spm_bytes: int
    read_pj_per_byte: float = 0.0
    write_pj_per_byte: float = 0.0
    leakage_w: float = 0.0
    read_bytes_per_s: int | None = None
    write_bytes_per_s: int | None = None
    technology: str = ""
    source: str = ""
    area_mm2: float | None = None
    retention_ns: float | None = field(default=None, metadata={"group": "retention_ns"})

    def __post_init__(self) -> None:
        figures = ("read_pj_per_byte", "write_pj_per_byte", "leakage_w", "area_mm2", "retention_ns")
        require_figures("bank", self, figures)
        rates = ("read_bytes_per_s", "write_bytes_per_s")
        require_counts("bank", self, ("spm_bytes", *rates))

    @property
    def has_rates(self) -> bool:
        """Whether a step can wait for its port."""
        return self.read_bytes_per_s is not None or self.write_bytes_per_s is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystolicArray:
    """Dimensions of a systolic array; ``dataflow`` is ``os``, ``ws`` or ``is``.

    ``reuse``: operands of products are read from the scratchpad as often as the array needs them
    (:mod:`spmopt.graph.array_accesses`), not once.
    ``pipelined``: a fold enters the array while the one before leaves it; else each fills and
    drains the array by itself.
    """

    rows: int
    columns: int
    dataflow: str = "os"
    reuse: bool = field(default=False, metadata={"group": "reuse"})
    pipelined: bool = field(default=False, metadata={"group": "pipelined"})

    def operations_per_s(self, clock_hz: int) -> int:
        """Return the multiplications and additions a second with all of it at work."""
        return 2 * self.rows * self.columns * clock_hz

    def __post_init__(self) -> None:
        require_counts("systolic array", self, ("rows", "columns"))
        if self.dataflow not in ("os", "ws", "is"):
            raise InputError(
                f"systolic array: dataflow {self.dataflow!r} is none of 'os', 'ws', 'is'"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """How an engine of dot products works through a product: in blocks, each as long as full ones.

    Attributes
    ----------
    rows, columns
        Rows and columns of the result in a block: positions and output channels.
    depth
        Input channels that each of its elements sums up.
    window
        Elements of a window that share ``depth``: so many times fewer channels of each. A depthwise
        convolution has one channel of each element, and a group in each column.
    load
        Blocks that take as long as loading the weights of one. Blocks of the same weights take at
        least as long. None: loading is never slower.
    outputs
        Results that leave the accumulators in a cycle. None: any number.
    accumulators
        Results that are summed up while those before them leave.
    pool
        Elements of a window that a block of a pooling takes, which has a channel in each column.
        None: poolings are work of the vector unit.
    """

    rows: int
    columns: int
    depth: int
    window: int = 1
    load: int | None = field(default=None, metadata={"group": "load"})
    outputs: int | None = field(default=None, metadata={"group": "outputs"})
    accumulators: int | None = field(default=None, metadata={"group": "outputs"})
    pool: int | None = field(default=None, metadata={"group": "pool"})

    def __post_init__(self) -> None:
        require_counts("blocks", self, tuple(each.name for each in fields(self)))
        if self.depth % self.window:
            raise InputError("blocks: window must divide depth, which its elements share")
        if (self.outputs is None) != (self.accumulators is None):
            raise InputError("blocks: outputs and accumulators go together; give both or none")

    @property
    def macs(self) -> int:
        """Multiply-accumulates of a full block."""
        return self.rows * self.columns * self.depth

    def times(self, count: int) -> Blocks:
        """Return the blocks of ``count`` cores; their accumulators empty side by side."""
        if self.outputs is None or self.accumulators is None:
            return self
        return replace(self, outputs=count * self.outputs, accumulators=count * self.accumulators)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorUnit:
    """The unit that does all work but matrix products.

    Attributes
    ----------
    lanes
        Operations a cycle.
    rate
        Operations a second, in place of ``lanes``. Both None: see
        :attr:`Machine.vector_operations_per_s`.
    special
        Operations that a division, root, exponential or other elementary function costs. By default
        4: NVIDIA's multiprocessors give 16 results of these a cycle, and 64 of additions (CUDA C++
        Programming Guide, throughput of native arithmetic instructions, compute capability 7.5).
    inline
        Whether activations take no cycles, as the results before them leave through the unit.
    """

    lanes: int | None = None
    rate: int | None = None
    special: int = 4
    inline: bool = field(default=False, metadata={"group": "inline"})

    def __post_init__(self) -> None:
        require_counts("vector unit", self, ("lanes", "rate", "special"))
        if self.lanes is not None and self.rate is not None:
            raise InputError("vector unit: lanes and rate both say its speed; leave one out")

    def times(self, count: int) -> VectorUnit:
        """Return the unit of ``count`` cores."""
        known = {name: getattr(self, name) for name in ("lanes", "rate")}
        return replace(self, **{name: count * of for name, of in known.items() if of is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Energy of the events that a schedule causes (picojoules; leakage in watts).

    ``source`` says where those figures are from that are not of the scratchpad's technology.
    """

    dram_pj_per_byte: float = 0.0
    spm_read_pj_per_byte: float = 0.0
    spm_write_pj_per_byte: float = 0.0
    mac_pj: float = 0.0
    leakage_w: float = 0.0
    source: str = ""

    def __post_init__(self) -> None:
        require_figures("energy", self, ENERGY_FIGURES)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedFigures:
    """Costs of products of one element type; None: the costs of any type.

    Attributes
    ----------
    element_type
        A name of :mod:`spmopt.core.elements`.
    operations_per_s
        Multiplications and additions a second.
    mac_pj
        Energy of a multiply-accumulate.
    """

    element_type: str
    operations_per_s: int | None = None
    mac_pj: float | None = None

    def __post_init__(self) -> None:
        where = f"element type {element_type(self.element_type).name}"
        require_counts(where, self, ("operations_per_s",))
        require_figures(where, self, ("mac_pj",))

    def times(self, count: int) -> TypedFigures:
        """Return the figures of ``count`` engines."""
        rate = self.operations_per_s
        return self if rate is None else replace(self, operations_per_s=count * rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Area of all but the scratchpad (square millimeters), and where the figures are from.

    Attributes
    ----------
    engine_mm2
        Area of the engine that does not depend on its size.
    mac_mm2
        Of each of its multiply-accumulate units, see :attr:`Machine.mac_units`.
    mm2_per_gbps
        Of the interface to the DRAM, for each GB/s (1e9 bytes/s) of its bandwidth.
    """

    engine_mm2: float = 0.0
    mac_mm2: float = 0.0
    mm2_per_gbps: float = 0.0
    source: str = ""

    def __post_init__(self) -> None:
        require_figures("area", self, AREA_FIGURES)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpmTechnology:
    """Figures of a scratchpad by technology; its energies and leakage are in :class:`Energy`.

    Attributes
    ----------
    technology
        Name, or path of its file.
    source, basis
        Where its figures are from, and whether they are published, of a fit, or beyond it.
    spm_bytes
        The capacity that they are of.
    area_mm2
        Of the whole scratchpad.
    dram_bytes_per_s
        Rate of the DRAM alone; the machine's channel is no faster than the banks.
    banks
        How many work side by side, an access at a time each; None: as many as it takes.
    read_bytes_per_s, write_bytes_per_s
        Rates of all banks together; None as ``banks``.
    """

    technology: str
    source: str
    basis: str
    spm_bytes: int
    area_mm2: float
    dram_bytes_per_s: int
    banks: int | None = None
    read_bytes_per_s: int | None = None
    write_bytes_per_s: int | None = None

    def __post_init__(self) -> None:
        require_figures("memory", self, ("area_mm2",))
        rates = (self.banks, self.read_bytes_per_s, self.write_bytes_per_s)
        known = [rate for rate in rates if rate is not None]
        if known and (len(known) < len(rates) or min(known) < 1):
            raise InputError("memory: banks and both their rates must be at least 1, or all unset")

    @property
    def rates(self) -> tuple[int, int] | None:
        """Bytes per second that the banks deliver and accept, where they are counted."""
        if self.read_bytes_per_s is None or self.write_bytes_per_s is None:
            return None
        return self.read_bytes_per_s, self.write_bytes_per_s

    def times(self, count: int) -> SpmTechnology:
        """Return ``count`` of these scratchpads, with a DRAM each."""
        known = {name: getattr(self, name) for name in _OF_ALL}
        return replace(
            self, **{k: count * value for k, value in known.items() if value is not None}
        )


_OF_ALL = (
    *("spm_bytes", "area_mm2", "dram_bytes_per_s", "banks"),
    *("read_bytes_per_s", "write_bytes_per_s"),
)
"""Figures of a technology that several scratchpads have as often as they are."""
ENERGY_FIGURES = tuple(field.name for field in fields(Energy) if field.name != "source")
AREA_FIGURES = tuple(field.name for field in fields(Area) if field.name != "source")
