//! Serves Prony's workloads with its own epoll loops, one per CPU, and only Zig's standard library.
//!
//!     main.zig        reads the content, opens the listening sockets, starts the workers
//!     Worker.zig      one epoll loop and its connections
//!     Connection.zig  one client: bytes in, responses out
//!     Request.zig     parses the head of a request
//!     Responder.zig   which response a request gets
//!     Content.zig     what is served, read at the start
//!     Response.zig    one response, without the fields that differ between requests
//!     Outbox.zig      what is left to send to a client
//!     Clock.zig       the Date field
//!     Poll.zig        epoll
//!     socket.zig      the other system calls

const std = @import("std");
const Content = @import("Content.zig");
const Worker = @import("Worker.zig");
const socket = @import("socket.zig");

pub fn main(init: std.process.Init) !void {
    const arena = init.arena.allocator();
    const env = init.environ_map;
    const content: Content = try .read(arena, init.io, env.get("ASSETS").?);
    const port = try std.fmt.parseInt(u16, env.get("PORT").?, 10);
    const address: std.Io.net.IpAddress = try .parse(env.get("HOST").?, port);
    const cpus = try std.fmt.parseInt(usize, env.get("CPUS").?, 10);

    // All workers listen before one responds; otherwise a missing one would go unnoticed.
    const listeners = try arena.alloc(socket.Handle, @max(cpus, 1));
    for (listeners) |*listener| listener.* = try socket.listen(&address);
    for (listeners[1..]) |listener| {
        _ = try std.Thread.spawn(.{}, Worker.run, .{ init.gpa, &content, listener });
    }
    Worker.run(init.gpa, &content, listeners[0]);
}
