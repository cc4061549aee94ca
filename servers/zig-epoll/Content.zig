//! What is served: read at the start, and shared by all workers.

const std = @import("std");
const Allocator = std.mem.Allocator;
const Io = std.Io;
const Response = @import("Response.zig");

const Content = @This();

hello: Response,
byte: Response,
page: Response,
quotes: []const Response,
/// The texts that are converted to events.
page_text: []const u8,
small_page_text: []const u8,

pub fn read(arena: Allocator, io: Io, path: []const u8) !Content {
    const folder = try Io.Dir.cwd().openDir(io, path, .{});
    defer folder.close(io);
    const page_text = try folder.readFileAlloc(io, "page-100k.html", arena, .unlimited);
    return .{
        .hello = try .constant(arena, "text/plain", "hello from prony\n"),
        .byte = try .constant(arena, "text/plain", "r"),
        .page = try .constant(arena, "text/html", page_text),
        .quotes = try quoteResponses(arena, try folder.readFileAlloc(io, "quotes.txt", arena, .unlimited)),
        .page_text = page_text,
        .small_page_text = try folder.readFileAlloc(io, "page-20k.html", arena, .unlimited),
    };
}

fn quoteResponses(arena: Allocator, lines: []const u8) ![]const Response {
    var quotes: std.ArrayList(Response) = .empty;
    var it = std.mem.tokenizeScalar(u8, lines, '\n');
    while (it.next()) |quote| try quotes.append(arena, try .constant(arena, "text/plain", quote));
    return quotes.items;
}
