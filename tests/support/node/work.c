// The program in the pods of the test node: `work CPU_MILLI MEMORY_MIB` holds this much anonymous memory and keeps this share of a core busy, in
// slices of 100 ms; without arguments it waits. It ends at once on SIGTERM, also as process 1 of a container.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SLICE_NS = 100 * 1000 * 1000, SECOND_NS = 1000 * 1000 * 1000 };

static void end(int number) {
  (void)number;
  _exit(0);
}

static long long now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (long long)now.tv_sec * SECOND_NS + now.tv_nsec;
}

int main(int count, char** arguments) {
  signal(SIGTERM, end);
  signal(SIGINT, end);
  const long milli = count > 1 ? atol(arguments[1]) : 0;
  const size_t bytes = (count > 2 ? (size_t)atol(arguments[2]) : 0) << 20;
  char* memory = bytes ? malloc(bytes) : NULL;
  if (bytes && !memory) return 1;
  memset(memory, 1, bytes);
  printf("holds %zu bytes, uses %ld milli-cores\n", bytes, milli);
  fflush(stdout);
  while (milli <= 0) pause();
  long long next = now_ns(CLOCK_MONOTONIC);
  for (;;) {
    // CPU time, not wall time: the share holds even if other processes want the core.
    const long long until = now_ns(CLOCK_PROCESS_CPUTIME_ID) + SLICE_NS / 1000 * milli;
    volatile unsigned long sum = 0;
    while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
      for (size_t i = 0; i < 1000; ++i) sum += bytes ? (unsigned char)memory[i * 64 % bytes] : i;
    next += SLICE_NS;
    if (next < now_ns(CLOCK_MONOTONIC)) next = now_ns(CLOCK_MONOTONIC);  // late slices are not caught up
    const struct timespec wake = {next / SECOND_NS, next % SECOND_NS};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
  }
}
