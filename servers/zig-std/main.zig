//! Serves Prony's workloads with Zig's own std.http.Server.

const std = @import("std");
const Io = std.Io;
const Allocator = std.mem.Allocator;
const Request = std.http.Server.Request;

const Assets = struct {
    page: []const u8,
    small_page: []const u8,
    quotes: []const []const u8,

    fn read(arena: Allocator, io: Io, path: []const u8) !Assets {
        const folder = try Io.Dir.cwd().openDir(io, path, .{});
        defer folder.close(io);
        const lines = try folder.readFileAlloc(io, "quotes.txt", arena, .unlimited);
        var quotes: std.ArrayList([]const u8) = .empty;
        var it = std.mem.tokenizeScalar(u8, lines, '\n');
        while (it.next()) |quote| try quotes.append(arena, quote);
        return .{
            .page = try folder.readFileAlloc(io, "page-100k.html", arena, .unlimited),
            .small_page = try folder.readFileAlloc(io, "page-20k.html", arena, .unlimited),
            .quotes = quotes.items,
        };
    }
};

const Context = struct { io: Io, gpa: Allocator, assets: Assets };

pub fn main(init: std.process.Init) !void {
    const io = init.io;
    const env = init.environ_map;
    const context: Context = .{
        .io = io,
        .gpa = init.gpa,
        .assets = try .read(init.arena.allocator(), io, env.get("ASSETS").?),
    };

    const port = try std.fmt.parseInt(u16, env.get("PORT").?, 10);
    const address: Io.net.IpAddress = try .parse(env.get("HOST").?, port);
    var listener = try address.listen(io, .{ .reuse_address = true, .kernel_backlog = 1024 });
    defer listener.deinit(io);

    var connections: Io.Group = .init;
    defer connections.cancel(io);
    while (true) {
        const stream = listener.accept(io) catch |err| {
            std.log.err("accept: {t}", .{err});
            continue;
        };
        connections.concurrent(io, serve, .{ &context, stream }) catch stream.close(io);
    }
}

fn serve(context: *const Context, stream: Io.net.Stream) void {
    const io = context.io;
    defer stream.close(io);

    var receive_buffer: [8192]u8 = undefined;
    var send_buffer: [8192]u8 = undefined;
    var reader = stream.reader(io, &receive_buffer);
    var writer = stream.writer(io, &send_buffer);
    var server: std.http.Server = .init(&reader.interface, &writer.interface);

    // An error in either means that the client is gone.
    while (true) {
        var request = server.receiveHead() catch return;
        respond(context, &request) catch return;
        if (!request.head.keep_alive) return;
    }
}

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

fn respond(context: *const Context, request: *Request) !void {
    const assets = &context.assets;
    const route = routes.get(request.head.target) orelse
        return request.respond("", .{ .status = .not_found });
    switch (route) {
        .hello => try send(request, "text/plain", "hello from prony\n"),
        .byte => try send(request, "text/plain", "r"),
        .page => try send(request, "text/html", assets.page),
        .log => {
            try logLine(context.io, "GET /log\n");
            try send(request, "text/html", assets.page);
        },
        .sse => {
            try logLine(context.io, "GET /sse\n");
            try sendPatch(context.gpa, request, assets.page);
        },
        .sse_20k => {
            try logLine(context.io, "GET /sse-20k\n");
            try sendPatch(context.gpa, request, assets.small_page);
        },
        .quote => {
            const source: std.Random.IoSource = .{ .io = context.io };
            const index = source.interface().uintLessThan(usize, assets.quotes.len);
            try send(request, "text/plain", assets.quotes[index]);
        },
    }
}

fn logLine(io: Io, line: []const u8) !void {
    try Io.File.stdout().writeStreamingAll(io, line);
}

fn send(request: *Request, content_type: []const u8, body: []const u8) !void {
    try request.respond(body, .{
        .extra_headers = &.{.{ .name = "content-type", .value = content_type }},
    });
}

/// Sends a page as one datastar-patch-elements event.
fn sendPatch(gpa: Allocator, request: *Request, page: []const u8) !void {
    var event: Io.Writer.Allocating = try .initCapacity(gpa, page.len * 5 / 4);
    defer event.deinit();
    try event.writer.writeAll("event: datastar-patch-elements\n");
    var lines = std.mem.tokenizeScalar(u8, page, '\n');
    while (lines.next()) |line| try event.writer.print("data: elements {s}\n", .{line});
    try event.writer.writeByte('\n');

    try request.respond(event.written(), .{ .extra_headers = &.{
        .{ .name = "content-type", .value = "text/event-stream" },
        .{ .name = "cache-control", .value = "no-cache" },
        .{ .name = "connection", .value = "keep-alive" },
    } });
}
