"""What is needed in some branches only is computed there."""
