"""Layer configs made from other programs' files: ONNX models and oneDNN benchdnn's batch files."""
