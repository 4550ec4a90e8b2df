"""Commands of a schedule as files, for compilers and back ends (README.md)."""
