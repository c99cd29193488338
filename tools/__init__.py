"""What a maintainer runs to keep data files up to date; nothing of it is in the product."""
