"""From a choice to loops: tiles, their registers, packed operands, and what is fetched early."""
