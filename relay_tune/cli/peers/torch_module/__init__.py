"""An ONNX file as a module of torch, which does not read such files."""
