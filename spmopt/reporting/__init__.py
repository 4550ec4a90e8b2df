"""Results for people (tables) and for programs (JSON): a view is computed, then drawn."""
