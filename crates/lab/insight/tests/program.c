// A program of known shape: `inner` does ten times the work of `outer`.
#include <stdlib.h>

volatile unsigned sink;

__attribute__((noinline)) static void inner(unsigned n) {
    for (unsigned i = 0; i < 10 * n; i++) sink += i;
}

__attribute__((noinline)) static void outer(unsigned n) {
    for (unsigned i = 0; i < n; i++) sink ^= i;
    inner(n);
}

int main(int count, char **arguments) {
    for (int i = 0; i < 100; i++) outer(count > 1 ? atoi(arguments[1]) : 100);
    return 0;
}
