//! Chooses the response to a request. Each worker has its own, with a buffer for events.

const std = @import("std");
const Allocator = std.mem.Allocator;
const linux = std.os.linux;
const Clock = @import("Clock.zig");
const Content = @import("Content.zig");
const Outbox = @import("Outbox.zig");
const Request = @import("Request.zig");
const Response = @import("Response.zig");

const Responder = @This();

content: *const Content,
clock: Clock = .{},
random: std.Random.DefaultPrng,
/// The event of the current response; the next one overwrites it.
event: std.Io.Writer.Allocating,
event_fields: [128]u8 = undefined,

const Route = enum { hello, byte, page, log, sse, sse_20k, quote };

const routes: std.StaticStringMap(Route) = .initComptime(.{
    .{ "/hello", .hello },
    .{ "/byte", .byte },
    .{ "/", .page },
    .{ "/log", .log },
    .{ "/sse", .sse },
    .{ "/sse-20k", .sse_20k },
    .{ "/franklin-says", .quote },
});

pub fn init(gpa: Allocator, content: *const Content) Responder {
    var seed: [8]u8 = @splat(0);
    _ = linux.getrandom(&seed, seed.len, 0);
    return .{ .content = content, .random = .init(@bitCast(seed)), .event = .init(gpa) };
}

pub fn respond(responder: *Responder, request: Request, outbox: *Outbox) void {
    const connection = if (!request.keep_alive)
        "Connection: close\r\n"
    else if (request.version == .@"1.0")
        "Connection: keep-alive\r\n"
    else
        "";
    var chosen = responder.choose(request);
    if (request.method == .head) chosen.body = .{};
    responder.put(chosen, connection, outbox);
}

/// Responds to bytes that are not a request, before the connection is closed.
pub fn refuse(responder: *Responder, reason: Request.Error, outbox: *Outbox) void {
    const refusal: Response = switch (reason) {
        error.Malformed => .empty("400 Bad Request", ""),
        error.TooLong => .empty("431 Request Header Fields Too Large", ""),
        error.UnknownVersion => .empty("505 HTTP Version Not Supported", ""),
    };
    responder.put(refusal, "Connection: close\r\n", outbox);
}

fn choose(responder: *Responder, request: Request) Response {
    const route = routes.get(request.path) orelse return .not_found;
    if (request.method == .other) return .method_not_allowed;
    const content = responder.content;
    return switch (route) {
        .hello => content.hello,
        .byte => content.byte,
        .page => content.page,
        .log => {
            log("GET /log\n");
            return content.page;
        },
        .sse => {
            log("GET /sse\n");
            return responder.patch(content.page_text) catch .server_error;
        },
        .sse_20k => {
            log("GET /sse-20k\n");
            return responder.patch(content.small_page_text) catch .server_error;
        },
        .quote => content.quotes[responder.random.random().uintLessThan(usize, content.quotes.len)],
    };
}

/// One system call, so that the lines of two workers are not mixed. A log that nobody reads is not a failure.
fn log(line: []const u8) void {
    _ = linux.write(linux.STDOUT_FILENO, line.ptr, line.len);
}

/// A page as one datastar-patch-elements event, converted for each request.
fn patch(responder: *Responder, page: []const u8) !Response {
    const event = &responder.event;
    event.clearRetainingCapacity();
    try event.writer.writeAll("event: datastar-patch-elements\n");
    var lines = std.mem.splitScalar(u8, std.mem.cutSuffix(u8, page, "\n") orelse page, '\n');
    while (lines.next()) |line| {
        try event.writer.writeAll("data: elements ");
        try event.writer.writeAll(line);
        try event.writer.writeByte('\n');
    }
    try event.writer.writeByte('\n');

    const template = "Content-Type: text/event-stream\r\nCache-Control: no-cache\r\nContent-Length: {d}\r\n";
    return .{
        .fields = try std.fmt.bufPrint(&responder.event_fields, template, .{event.written().len}),
        .body = .{ .bytes = event.written(), .lasts = false },
    };
}

fn put(responder: *const Responder, chosen: Response, connection: []const u8, outbox: *Outbox) void {
    outbox.append("HTTP/1.1 ");
    outbox.append(chosen.status);
    outbox.append("\r\nDate: ");
    outbox.append(&responder.clock.text);
    outbox.append("\r\n");
    outbox.append(chosen.fields);
    outbox.append(connection);
    outbox.append("\r\n");
    // Copying a small body is cheaper than pointing to it, and more responses can follow.
    if (chosen.body.bytes.len <= Outbox.max_append / 2) {
        outbox.append(chosen.body.bytes);
    } else {
        outbox.body = chosen.body;
    }
}
