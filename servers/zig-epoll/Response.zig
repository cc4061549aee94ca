//! One response, without the fields that differ between requests.

const std = @import("std");
const Outbox = @import("Outbox.zig");

const Response = @This();

status: []const u8 = "200 OK",
/// Complete lines.
fields: []const u8,
body: Outbox.Body = .{},

pub const not_found: Response = .empty("404 Not Found", "");
pub const method_not_allowed: Response = .empty("405 Method Not Allowed", "Allow: GET, HEAD\r\n");
pub const server_error: Response = .empty("500 Internal Server Error", "");

pub fn empty(comptime status: []const u8, comptime fields: []const u8) Response {
    return .{ .status = status, .fields = fields ++ "Content-Length: 0\r\n" };
}

/// A response whose body never changes, prepared once.
pub fn constant(arena: std.mem.Allocator, content_type: []const u8, body: []const u8) !Response {
    const template = "Content-Type: {s}\r\nContent-Length: {d}\r\n";
    return .{
        .fields = try std.fmt.allocPrint(arena, template, .{ content_type, body.len }),
        .body = .{ .bytes = body },
    };
}
