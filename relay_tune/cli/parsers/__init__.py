"""What each verb of the command takes; nothing here needs numpy, ONNX or LLVM."""
