// Waits for a line. Then one thread sleeps in nap(), again and again, and the main thread waits for it.
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline))

APART void nap(void) {
  struct timespec time = {0, 20000000};
  nanosleep(&time, 0);
  __asm__ volatile("" ::: "memory");
}

static void *sleeper(void *unused) {
  for (;;) nap();
  return unused;
}

int main(void) {
  char line[16];
  if (read(0, line, sizeof line) <= 0) return 1;
  pthread_t thread;
  pthread_create(&thread, 0, sleeper, 0);
  pthread_join(thread, 0);
}
