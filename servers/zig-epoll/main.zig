//! Serves Prony's workloads from epoll loops of its own, one a CPU, with Zig's standard library alone.
//!
//!     main.zig        reads what is served, opens the listening sockets, starts the workers
//!     Worker.zig      one epoll loop and the connections that it accepted
//!     Connection.zig  one client: bytes in, responses out
//!     Request.zig     reads a request's head, with its tests
//!     Responder.zig   which response a request gets
//!     Content.zig     what is served, read once at start
//!     Response.zig      one response, short of the fields that differ from request to request
//!     Outbox.zig      what still has to be sent to a client
//!     Clock.zig       the time as HTTP writes it
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

    // All listen before one responds: a worker less would go unnoticed.
    const listeners = try arena.alloc(socket.Handle, @max(cpus, 1));
    for (listeners) |*listener| listener.* = try socket.listen(&address);
    for (listeners[1..]) |listener| {
        _ = try std.Thread.spawn(.{}, Worker.run, .{ init.gpa, &content, listener });
    }
    Worker.run(init.gpa, &content, listeners[0]);
}
