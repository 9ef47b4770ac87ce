"""What the tree promises about itself, held by tests: layers, bans, headers, dead files, READMEs, documentation commands."""
