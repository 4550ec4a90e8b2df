"""``LSTM``, ``GRU`` and ``RNN``, step by step: sequences as long as the file's, in both directions.

A step multiplies its rows of X by W and the output of the step before by R, each with its bias,
and updates the state: three operations. Weights stay the file's tensors where there is one
direction, and are one for each direction where there are two. Sequences that are shorter than the
longest are computed in full, as the lengths come with the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spmopt.core.errors import InputError
from spmopt.graph.composites.call import Call, Results

MOST_STEPS = 20_000
"""Of a sequence: each is three operations or more."""
_Step = Callable[[int, int, tuple[int, ...]], tuple[int, ...]]
"""Of a direction's number, rows of X and the states before, the new states, h first."""
_ACTIVATIONS = {"Affine": "Identity", "ScaledTanh": "Tanh"}


def rnn(call: Call) -> Results:
    """Return Y and Y_h of ``RNN``."""
    activations = _activations(call, "Tanh")

    def step(direction: int, x: int, states: tuple[int, ...]) -> tuple[int, ...]:
        both = [layer(direction, k, of) for k, of in enumerate((x, states[0]))]
        total = call.add("Add", *both, part="add")
        return (call.add(activations[direction], total, part="activation"),)

    layer = _layers(call)
    return _sequence(call, step, 1)


def lstm(call: Call) -> Results:
    """Return Y, Y_h and Y_c of ``LSTM``."""
    if call.find(7) is not None:
        raise InputError("has peepholes (input 7), which have no rule; export it without them")

    def step(direction: int, x: int, states: tuple[int, ...]) -> tuple[int, ...]:
        h, c = states
        both = [layer(direction, k, of) for k, of in enumerate((x, h))]
        c, h = call.many("LSTMUpdate", *both, c, part="update")
        return (h, c)

    layer = _layers(call)
    return _sequence(call, step, 2)


def gru(call: Call) -> Results:
    """Return Y and Y_h of ``GRU``.

    Where the reset gate comes before its product (``linear_before_reset`` is 0), that product is
    one of its own.
    """
    # With 1 the reset gate scales the finished product, and all three gates share one.
    if not call.number("linear_before_reset", 0):
        return _gru_reset_first(call)

    def step(direction: int, x: int, states: tuple[int, ...]) -> tuple[int, ...]:
        both = [layer(direction, k, of) for k, of in enumerate((x, states[0]))]
        return (call.add("GRUUpdate", *both, states[0], part="update"),)

    layer = _layers(call)
    return _sequence(call, step, 1)


def _gru_reset_first(call: Call) -> Results:
    hidden = call.operand(2).shape[2]
    # ONNX orders the gates z, r, h: the first two take h itself, the last takes r h.
    sizes = (2 * hidden, hidden)
    gates, candidate = call.parts(2, 1, sizes)
    weights, biases = _by_direction(call, 1), _by_direction(call, 3)

    def product(direction: int, x: int, w: int, part: str) -> int:
        return call.add("RecurrentGemm", x, w, part=part, direction=direction)

    def step(direction: int, x: int, states: tuple[int, ...]) -> tuple[int, ...]:
        (h,) = states
        more = [biases[direction]] if biases else []
        from_x = call.add("RecurrentGemm", x, weights[direction], *more, part="x")
        x_gates, x_new = call.split(from_x, 1, sizes)
        both = call.add("Add", x_gates, product(direction, h, gates, "gates"), part="sum")
        z, r = call.split(call.add("Sigmoid", both, part="sigmoid"), 1, (hidden, hidden))
        reset = call.add("Mul", r, h, part="reset")
        new = call.add("Add", x_new, product(direction, reset, candidate, "new"), part="sum")
        new = call.add("Tanh", new, part="tanh")
        # h' = (1 - z) n + z h, written as n + z (h - n): one product fewer.
        rest = call.add("Mul", z, call.add("Sub", h, new, part="rest"), part="kept")
        return (call.add("Add", new, rest, part="update"),)

    return _sequence(call, step, 1)


def _directions(call: Call) -> tuple[int, ...]:
    """Return for each direction 1, or -1 for one that begins at the end."""
    found = {"forward": (1,), "reverse": (-1,), "bidirectional": (1, -1)}
    name = call.text("direction", "forward")
    if name not in found or call.operand(1).shape[0] != len(found[name]):
        raise InputError(f"direction {name} does not suit weights {call.operand(1).shape}")
    return found[name]


def _activations(call: Call, default: str) -> list[str]:
    """Return the activation of each direction."""
    names = call.text("activations", default).split(",")
    names = [_ACTIVATIONS.get(name, name) for name in names]
    # ONNX asks for one list a direction, but its default is written once: it holds for both.
    return names * 2 if len(names) == 1 else names


def _by_direction(call: Call, place: int) -> tuple[int, ...]:
    """Return an operand of one tensor a direction; nothing where it is left out."""
    operand = call.find(place)
    return () if operand is None else call.parts(place, 0, (1,) * operand.shape[0])


def _layers(call: Call) -> Callable[[int, int, int], int]:
    """Return the product of x (0) or h (1) with the weights of a direction."""
    weights, biases = [_by_direction(call, 1), _by_direction(call, 2)], _by_direction(call, 3)

    def layer(direction: int, of: int, x: int) -> int:
        more = [biases[direction]] if biases else []
        part = ("x", "h")[of]
        return call.add("RecurrentGemm", x, weights[of][direction], *more, part=part)

    return layer


def _sequence(call: Call, step: _Step, count: int) -> Results:
    """Run all steps of all directions; return Y, and the last of each of ``count`` states."""
    last = call.number("layout", 0)  # 1: images before steps
    shape = call.operand(0).shape
    if len(shape) != 3:
        raise InputError(f"X {shape} must have 3 dimensions: steps, images, features")
    steps, images = (shape[1], shape[0]) if last else shape[:2]
    # Each step is three operations or more: the problem would be too large to solve.
    if steps > MOST_STEPS:
        raise InputError(f"a sequence of {steps} steps is too long; export at most {MOST_STEPS}")
    x = call.split(call.value(0), 1 if last else 0, (1,) * steps)
    rows = [call.reshape(each, images, shape[2]) for each in x]
    outputs, finals = [], list[tuple[int, ...]]()
    for direction, way in enumerate(_directions(call)):
        states, found = _initial(call, direction, count, images), list[int]()
        # A backward direction reads the steps from the end; its outputs are turned back below.
        for row in rows[::way]:
            states = step(direction, row, states)
            found.append(states[0])
        outputs.append(found[::way])
        finals.append(states)
    y = _stack(call, outputs, images, last) if call.wants(0) else None
    ends = [
        _ends(call, [states[k] for states in finals], images, last) if call.wants(k + 1) else None
        for k in range(count)
    ]
    return [y, *ends]


def _initial(call: Call, direction: int, count: int, images: int) -> tuple[int, ...]:
    """Return the states before the first step, zeros where they are not given: none is trained."""
    hidden, last = call.operand(2).shape[2], call.number("layout", 0)
    states = []
    for place in (5, 6)[:count]:
        if call.find(place) is None:
            x = call.operand(0)
            name = f"{call.name}.initial"
            states.append(call.builder.state(name, (images, hidden), element_type=x.element_type))
            continue
        # An initial state is data, not a trained weight, even where the file holds it.
        given = call.freeze(place)
        directions = call.shape(given)[1 if last else 0]
        one = call.split(given, 1 if last else 0, (1,) * directions)[direction]
        states.append(call.reshape(one, images, hidden))
    return tuple(states)


def _stack(call: Call, outputs: Sequence[Sequence[int]], images: int, last: int) -> int:
    """Return Y, (steps, directions, images, H), or images first."""
    hidden = call.shape(outputs[0][0])[1]
    shape = (images, 1, 1, hidden) if last else (1, 1, images, hidden)
    times, ways = (1, 2) if last else (0, 1)
    rows = []
    for run_parallel in zip(*outputs, strict=True):
        both = [call.reshape(each, *shape) for each in run_parallel]
        rows.append(call.join(both, ways))
    return call.join(rows, times)


def _ends(call: Call, states: Sequence[int], images: int, last: int) -> int:
    """Return the last states, (directions, images, H), or images first."""
    hidden = call.shape(states[0])[1]
    shape = (images, 1, hidden) if last else (1, images, hidden)
    return call.join([call.reshape(each, *shape) for each in states], 1 if last else 0)
