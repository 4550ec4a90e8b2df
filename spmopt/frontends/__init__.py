"""Where graphs come from: ONNX files and networks built from code."""
