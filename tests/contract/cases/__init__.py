"""One file a subject. A case is a function whose name says the rule."""
