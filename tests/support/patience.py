"""How long a test waits for an event without a deadline: enough for a machine several times slower than the development machine. A limit that the product guarantees has its
own name in the test that checks it."""

PATIENCE_S = 300
