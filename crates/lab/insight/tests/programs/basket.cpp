// Waits for a line, then burns CPU time in a method.
#include <unistd.h>

namespace shop {
struct Basket {
  unsigned long sum = 1;
  __attribute__((noinline)) void total(int count) {
    for (int i = 0; i < count; i++) {
      sum = sum * 31 + 7;
      __asm__ volatile("" : "+r"(sum));
    }
  }
};
}  // namespace shop

int main() {
  char line[16];
  if (read(0, line, sizeof line) <= 0) return 1;
  shop::Basket basket;
  for (;;) basket.total(100000);
}
