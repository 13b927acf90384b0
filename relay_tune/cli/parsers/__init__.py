"""Options of each verb of the command; nothing here needs numpy, ONNX or LLVM."""
