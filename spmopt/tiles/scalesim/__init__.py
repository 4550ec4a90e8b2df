"""Files of SCALE-Sim (github.com/scalesim-project/scale-sim-v2): topologies and machines."""
