"""What a study has found: its front, importances, worth, and the schedule of any trial."""
