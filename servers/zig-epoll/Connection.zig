//! One client: what has come of its next request, and what it has yet to be sent.

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
    /// Everything is sent. What the client still sends is dropped until it closes its side too: to
    /// close first would reset the connection, and could take from it the response in flight.
    lingering,
} = .open,
awaited: Awaited = .bytes,
outbox: Outbox = .{},
/// Received and not yet read.
start: usize = 0,
end: usize = 0,
buffer: [Request.max_length]u8 = undefined,

/// What must come before there is something to do.
pub const Awaited = enum { bytes, room };

pub fn deinit(connection: *Connection, gpa: Allocator) void {
    connection.outbox.deinit(gpa);
    socket.close(connection.handle);
}

/// Does what can be done without waiting, and sets what to wait for next. It receives once at most,
/// so that a client that never stops sending cannot keep the others waiting.
pub fn proceed(connection: *Connection, gpa: Allocator, responder: *Responder) !void {
    if (connection.awaited == .bytes) try connection.receive();
    while (try connection.outbox.send(gpa, connection.handle)) {
        if (connection.state == .closing) {
            socket.finishSending(connection.handle);
            connection.state = .lingering;
        }
        connection.response(responder);
        if (connection.outbox.isEmpty()) {
            connection.awaited = .bytes;
            return;
        }
    }
    connection.awaited = .room;
}

/// There is always room to receive into: a head that fills the buffer has got a response.
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

/// Responses the requests that have come as a whole, as many as the outbox has room for.
fn response(connection: *Connection, responder: *Responder) void {
    while (connection.state == .open and connection.outbox.hasRoom()) {
        const received = connection.buffer[connection.start..connection.end];
        const request = Request.parse(received) catch |err| {
            responder.refuse(err, &connection.outbox);
            connection.state = .closing;
            return;
        } orelse return;
        responder.response(request, &connection.outbox);
        connection.start += request.length;
        if (!request.keep_alive) connection.state = .closing;
    }
}
