module prony/servers/go-nethttp

go 1.22
