//! Server-sent events (WHATWG HTML, section 9.2).
