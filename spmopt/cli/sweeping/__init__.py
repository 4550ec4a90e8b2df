"""The command of sweeps."""
