"""The command `tune`."""
