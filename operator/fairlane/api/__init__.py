"""The types that users write and read: pydantic models from which the CRD is generated."""
