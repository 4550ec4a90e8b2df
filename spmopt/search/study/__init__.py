"""What a study keeps: its storage, records of trials, files of schedules."""
