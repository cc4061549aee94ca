module prony/known-difference

go 1.22
