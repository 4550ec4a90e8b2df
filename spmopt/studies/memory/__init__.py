"""Studies of memory technologies: DeepNVM++ (Inci et al.), STT-MRAM for training (Roy et al.)."""
