module prony/subjects/go-nethttp

go 1.22
