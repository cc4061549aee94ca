// A server with a known cost. For each request a thread of its own makes exactly 7 system calls of 3 kinds (1 read,
// 5 getppid, 1 write), and spends 7 of 10 loop steps in heavy() and 3 in light().
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef HEAVY_STEPS
#define HEAVY_STEPS 14000
#endif
#define LIGHT_STEPS 6000

static const char RESPONSE[] = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 17\r\n\r\nhello from prony\n";

// Each step needs the result of the one before.
__attribute__((noinline)) uint64_t heavy(uint64_t value) {
  for (int i = 0; i < HEAVY_STEPS; i++)
    value = value * 6364136223846793005u + 1442695040888963407u;
  return value;
}

__attribute__((noinline)) uint64_t light(uint64_t value) {
  for (int i = 0; i < LIGHT_STEPS; i++)
    value = value * 2862933555777941757u + 3037000493u;
  return value;
}

static volatile uint64_t sink;

static void *serve(void *argument) {
  int client = (int)(intptr_t)argument;
  char request[4096];
  while (read(client, request, sizeof request) > 0) {
    for (int i = 0; i < 5; i++)
      syscall(SYS_getppid);
    sink = light(heavy(sink));
    if (write(client, RESPONSE, sizeof RESPONSE - 1) < 0)
      break;
  }
  close(client);
  return NULL;
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(getenv("PORT")))};
  inet_pton(AF_INET, getenv("HOST"), &address.sin_addr);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 128)) {
    // If another program has taken the port, Prony tries another one.
    perror("bind");
    return 1;
  }
  for (;;) {
    int client = accept(listener, NULL, NULL);
    if (client < 0)
      continue;
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)client) == 0)
      pthread_detach(thread);
  }
}
