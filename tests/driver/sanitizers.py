"""How the sanitizers behave: they stop at the first finding, and leaks are findings. Programs without them ignore all of it."""

ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
    "ASAN_SYMBOLIZER_PATH": "/usr/lib/llvm-19/bin/llvm-symbolizer",
    "TSAN_SYMBOLIZER_PATH": "/usr/lib/llvm-19/bin/llvm-symbolizer",
}
