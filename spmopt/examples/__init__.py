"""Examples, one for each use: scripts whose cells (``# %%``) open as notebooks in most editors.

``python -m spmopt.examples.optimum FOLDER`` writes its pictures and pages into the folder.
"""
