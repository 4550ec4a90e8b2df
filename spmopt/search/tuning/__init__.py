"""The search of a study: ask a sampler, exclude by proof, evaluate, tell."""
