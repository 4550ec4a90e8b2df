 = 237dec4e350b4c8f
