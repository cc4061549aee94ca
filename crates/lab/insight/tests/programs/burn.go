// Waits for a line, then burns CPU time in a method.
package main

import "os"

type basket struct{ sum uint64 }

//go:noinline
func (b *basket) total(count int) {
	for i := 0; i < count; i++ {
		b.sum = b.sum*31 + 7
	}
}

func main() {
	line := make([]byte, 16)
	if n, _ := os.Stdin.Read(line); n == 0 {
		os.Exit(1)
	}
	b := basket{1}
	for {
		b.total(100000)
	}
}
