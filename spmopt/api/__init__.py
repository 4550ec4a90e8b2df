"""The functions of the program; all of them stand in :mod:`spmopt` itself."""
