"""REGIONCONFIG: warns about region ConfigMaps that cannot be parsed."""
