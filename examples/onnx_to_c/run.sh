#!/bin/sh
# From an ONNX file to a C program: needs relay_tune, and a C compiler for the last step only.
set -e
here=$(cd "$(dirname "$0")" && pwd)

python "$here/make_model.py"                            # digits.onnx
tune check digits.onnx                                  # is it supported?
tune build digits.onnx -o digits.so                     # digits.so, digits.h
${CC:-cc} -I. "$here/main.c" ./digits.so -Wl,-rpath,'$ORIGIN' -o digits
./digits
