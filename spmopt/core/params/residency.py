"""Parameters of the optimizers of residency."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.params.record import Amount, Count, Params, Positive, Share


@dataclass(frozen=True, kw_only=True)
class ResidencyParams(Params):
    """Column generation, windows, and integer programs of the plain model.

    A cell of that model is a tensor in a step. Fractions are of the time left, but for
    ``bound_fraction`` and those of banks, which are of the time limit.

    Attributes
    ----------
    first_steps
        Subgradient steps before the first program of column generation.
    all_columns
        Untouched steps of all intervals together, up to which all columns are in one program.
    sweeps
        Sweeps over windows of columns, at most; 0 leaves windows out.
    sweep_steps
        Steps of a problem above which such windows come before a program of all steps.
    sweep_width
        Steps that a window of the first sweep decides.
    setup_steps
        Subgradient steps to pay for set-ups of commands.
    replay_steps
        Subgradient steps of a bound on the replay.
    program_cells
        Cells up to which a problem is solved as one integer program.
    exact_cells
        Cells up to which whole cycles of all commands may close the last of the gap.
    window_cells
        Cells of windows of the plain model, one size after the other.
    quiet_sweeps
        Sweeps over such windows without a gain that end their search; 0 leaves them out.
    window_s
        Counted seconds of a window, at most.
    windows_fraction
        Time for windows before a small problem is solved as one program.
    mappings
        Mappings of each operation to choose among, of those that cost least by dual values.
    mip_gap
        Least gap at which an integer program ends: 0 spends the limit on the last digit.
    bound_fraction
        Time for each of two certificates of whole tensors.
    tensors_fractions
        Time to round a loose program of whole tensors, for one where they move in few steps, and
        for windows.
    large_fraction
        Time for such a loose program of a large problem.
    large_uses
        Uses of tensors up to which a large problem has that program.
    traffic_cells
        Cells up to which a problem without a time is solved as one program.
    bank_fractions
        Time for the relaxation in banks, for a plan that knows no banks, and for banks of plans.
    bank_cells
        Cells of the relaxation in banks, at most.
    bank_pages
        Pages of all cells, times banks, up to which the optimum in banks is searched.
    """

    first_steps: Positive = 150
    all_columns: Count = 6_000
    sweeps: Count = 4
    sweep_steps: Count = 600
    sweep_width: Positive = 200
    setup_steps: Count = 300
    replay_steps: Positive = 1_000
    program_cells: Count = 10_000
    exact_cells: Count = 1_000
    window_cells: tuple[Positive, ...] = (100, 600)
    quiet_sweeps: Count = 2
    window_s: Amount = 1.0
    windows_fraction: Share = 0.7
    mappings: Positive = 8
    mip_gap: Amount = 1e-4
    bound_fraction: Share = 0.2
    tensors_fractions: tuple[Share, Share, Share] = (0.3, 0.25, 0.5)
    large_fraction: Share = 0.6
    large_uses: Count = 15_000
    traffic_cells: Count = 300_000
    bank_fractions: tuple[Share, Share, Share] = (0.5, 0.3, 0.5)
    bank_cells: Count = 30_000
    bank_pages: Count = 1_500
