"""Judgement that several policies share: a template is held to the rules of the object it makes."""
