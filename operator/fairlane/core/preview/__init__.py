"""What would follow from a spec, said beforehand: nothing is read or written."""
