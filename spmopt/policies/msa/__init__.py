"""Memory space assignment, as the XLA compiler does it for the scratchpad of an accelerator."""

from spmopt.policies.msa.assignment import msa

__all__ = ["msa"]
