//! Serves the workload `hello` with Zig's own std.http.Server, after a known amount of work.

const std = @import("std");
const Io = std.Io;
const Request = std.http.Server.Request;

/// Steps of work for each request.
const work_steps: u64 = 200;

pub fn main(init: std.process.Init) !void {
    const io = init.io;
    const env = init.environ_map;
    const port = try std.fmt.parseInt(u16, env.get("PORT").?, 10);
    const address: Io.net.IpAddress = try .parse(env.get("HOST").?, port);
    var listener = try address.listen(io, .{ .reuse_address = true });
    defer listener.deinit(io);

    var connections: Io.Group = .init;
    defer connections.cancel(io);
    while (true) {
        const stream = listener.accept(io) catch |err| {
            std.log.err("accept: {t}", .{err});
            continue;
        };
        connections.concurrent(io, serve, .{ io, stream }) catch stream.close(io);
    }
}

fn serve(io: Io, stream: Io.net.Stream) void {
    defer stream.close(io);

    var receive_buffer: [8192]u8 = undefined;
    var send_buffer: [8192]u8 = undefined;
    var reader = stream.reader(io, &receive_buffer);
    var writer = stream.writer(io, &send_buffer);
    var server: std.http.Server = .init(&reader.interface, &writer.interface);

    // An error in either means that the client is gone.
    while (true) {
        var request = server.receiveHead() catch return;
        respond(&request) catch return;
        if (!request.head.keep_alive) return;
    }
}

fn respond(request: *Request) !void {
    if (!std.mem.eql(u8, request.head.target, "/hello")) {
        return request.respond("", .{ .status = .not_found });
    }
    work(work_steps);
    try request.respond("hello from prony\n", .{
        .extra_headers = &.{.{ .name = "content-type", .value = "text/plain" }},
    });
}

/// Each step needs the result of the one before, so the compiler cannot skip any.
noinline fn work(steps: u64) void {
    var state: u64 = 1;
    for (0..steps) |_| {
        state = state *% 6_364_136_223_846_793_005 +% 1;
        std.mem.doNotOptimizeAway(&state);
    }
}
