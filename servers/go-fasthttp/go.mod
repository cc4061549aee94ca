module prony/servers/go-fasthttp

go 1.25.0

require github.com/valyala/fasthttp v1.73.0

require (
	github.com/andybalholm/brotli v1.2.2 // indirect
	github.com/klauspost/compress v1.19.1 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
)
