"""Files and memory: what is written completely or not at all, mapped, locked and measured."""
