"""What do the numbers say? One pure function from evidence to verdict; its rule lives in `rule` and can be replaced behind this import."""

from .rule import judge

__all__ = ["judge"]
