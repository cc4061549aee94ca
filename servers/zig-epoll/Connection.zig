//! One client: the part of its next request received so far, and what is left to send.

const std = @import("std");
const Allocator = std.mem.Allocator;
const Outbox = @import("Outbox.zig");
const Request = @import("Request.zig");
const Responder = @import("Responder.zig");
const socket = @import("socket.zig");

const Connection = @This();

handle: socket.Handle,
state: enum {
    open,
    /// The last response is in the outbox.
    closing,
    /// Everything is sent. Further bytes are dropped until the client closes its side too: closing
    /// first would reset the connection, and the client could lose the response.
    lingering,
} = .open,
awaited: Awaited = .bytes,
outbox: Outbox = .{},
/// Received but not yet parsed.
start: usize = 0,
end: usize = 0,
buffer: [Request.max_length]u8 = undefined,

/// What the connection waits for.
pub const Awaited = enum { bytes, room };

pub fn deinit(connection: *Connection, gpa: Allocator) void {
    connection.outbox.deinit(gpa);
    socket.close(connection.handle);
}

/// Does what is possible without waiting, and sets what to wait for next. It receives at most once, so
/// that a client that never stops sending does not block the others.
pub fn proceed(connection: *Connection, gpa: Allocator, responder: *Responder) !void {
    if (connection.awaited == .bytes) try connection.receive();
    while (try connection.outbox.send(gpa, connection.handle)) {
        if (connection.state == .closing) {
            socket.finishSending(connection.handle);
            connection.state = .lingering;
        }
        connection.respond(responder);
        if (connection.outbox.isEmpty()) {
            connection.awaited = .bytes;
            return;
        }
    }
    connection.awaited = .room;
}

/// There is always room: a head that fills the buffer has been refused.
fn receive(connection: *Connection) !void {
    if (connection.state == .lingering) connection.start = connection.end;
    if (connection.start > 0) {
        const rest = connection.buffer[connection.start..connection.end];
        @memmove(connection.buffer[0..rest.len], rest);
        connection.start = 0;
        connection.end = rest.len;
    }
    const room = connection.buffer[connection.end..];
    connection.end += socket.receive(connection.handle, room) catch |err| switch (err) {
        error.WouldBlock => 0,
        error.Disconnected => return err,
    };
}

/// Responds to the complete requests, as many as the outbox has room for.
fn respond(connection: *Connection, responder: *Responder) void {
    while (connection.state == .open and connection.outbox.hasRoom()) {
        const received = connection.buffer[connection.start..connection.end];
        const request = Request.parse(received) catch |err| {
            responder.refuse(err, &connection.outbox);
            connection.state = .closing;
            return;
        } orelse return;
        responder.respond(request, &connection.outbox);
        connection.start += request.length;
        if (!request.keep_alive) connection.state = .closing;
    }
}
