// Waits for a line, then spends 70 % of its CPU time in heavy() and 30 % in light(), both called through middle().
// With an argument: `fork` does so in a child, and `exec PROGRAM` executes a program instead.
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef APART
#define APART __attribute__((noinline))
#endif

static volatile uint64_t result;

APART uint64_t heavy(uint64_t value) {
  for (int i = 0; i < 7000; i++) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(value));
  }
  return value;
}

APART uint64_t light(uint64_t value) {
  for (int i = 0; i < 3000; i++) {
    value = value * 2862933555777941757u + 3037000493u;
    __asm__ volatile("" : "+r"(value));
  }
  return value;
}

APART uint64_t middle(uint64_t value) {
  uint64_t first = heavy(value);
  return first ^ light(value);
}

APART void outer(void) {
  for (;;) result = middle(result) + 1;
}

int main(int count, char **arguments) {
  char line[16];
  if (read(0, line, sizeof line) <= 0) return 1;
  if (count > 2 && !strcmp(arguments[1], "exec")) {
    execl(arguments[2], arguments[2], "now", (char *)0);
    return 1;
  }
  if (count > 1 && !strcmp(arguments[1], "fork")) {
    pid_t child = fork();
    if (child > 0) {
      waitpid(child, 0, 0);
      return 0;
    }
  }
  outer();
}
