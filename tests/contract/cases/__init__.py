"""One file per subject. A case is a function; its name states the rule."""
