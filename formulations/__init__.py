"""Mathematical programs; they know the core records and nothing else of ours."""
