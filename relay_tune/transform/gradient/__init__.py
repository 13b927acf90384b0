"""Derivatives of programs: reverse mode by functionalising, forward mode by dual numbers."""
