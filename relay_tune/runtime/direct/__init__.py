"""The short way of calls: native code reads the arguments and makes the results."""
