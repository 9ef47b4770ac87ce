"""What ./dev does. Python 3.11 standard library only; one file a concern, listed in tests/driver/README.md."""
