"""Module to module passes; fusion is the last of them."""
