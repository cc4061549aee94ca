//! What is left to send to a client: small responses in one buffer, so that those to pipelined requests
//! take one system call, followed by at most one large body, which is not copied.

const std = @import("std");
const Allocator = std.mem.Allocator;
const socket = @import("socket.zig");

const Outbox = @This();

start: usize = 0,
end: usize = 0,
body: Body = .{},
/// The copy of which `body` is the rest, if the client was too slow for a temporary body.
kept: ?[]u8 = null,
buffer: [4096]u8 = undefined,

pub const Body = struct {
    bytes: []const u8 = "",
    /// Whether the bytes remain valid after this turn of the loop.
    lasts: bool = true,
};

/// How many bytes one response may append.
pub const max_append = 1024;

pub fn deinit(outbox: *Outbox, gpa: Allocator) void {
    if (outbox.kept) |kept| gpa.free(kept);
}

pub fn isEmpty(outbox: *const Outbox) bool {
    return outbox.start == outbox.end and outbox.body.bytes.len == 0;
}

/// Whether there is room for one more response.
pub fn hasRoom(outbox: *const Outbox) bool {
    return outbox.body.bytes.len == 0 and outbox.buffer.len - outbox.end >= max_append;
}

pub fn append(outbox: *Outbox, bytes: []const u8) void {
    @memcpy(outbox.buffer[outbox.end..][0..bytes.len], bytes);
    outbox.end += bytes.len;
}

/// Sends what the socket takes; returns whether that was all.
pub fn send(outbox: *Outbox, gpa: Allocator, handle: socket.Handle) !bool {
    while (!outbox.isEmpty()) {
        const buffered = outbox.buffer[outbox.start..outbox.end];
        const sent = socket.send(handle, buffered, outbox.body.bytes) catch |err| switch (err) {
            error.WouldBlock => {
                try outbox.keep(gpa);
                return false;
            },
            error.Disconnected => return err,
        };
        const of_buffer = @min(sent, buffered.len);
        outbox.start += of_buffer;
        outbox.body.bytes = outbox.body.bytes[sent - of_buffer ..];
    }
    outbox.deinit(gpa);
    outbox.kept = null;
    outbox.start = 0;
    outbox.end = 0;
    return true;
}

/// Keeps the rest of a temporary body until the client takes it.
fn keep(outbox: *Outbox, gpa: Allocator) !void {
    if (outbox.body.lasts) return;
    const kept = try gpa.dupe(u8, outbox.body.bytes);
    outbox.kept = kept;
    outbox.body = .{ .bytes = kept };
}
