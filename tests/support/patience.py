"""How long a test waits for what merely has to come about: long enough for a machine that is several times slower than the one that it was written on. A bound that the product promises has a
name of its own, in the test that holds it to that."""

PATIENCE_S = 300
