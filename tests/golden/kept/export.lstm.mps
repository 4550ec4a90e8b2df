 = ea0e0dab34f2a77f
