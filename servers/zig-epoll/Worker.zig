//! One epoll loop, its listening socket, and the connections accepted from it. Workers share only the
//! content, which does not change: there are no locks, and no cache line is written by two of them.

const std = @import("std");
const Allocator = std.mem.Allocator;
const Connection = @import("Connection.zig");
const Content = @import("Content.zig");
const Poll = @import("Poll.zig");
const Responder = @import("Responder.zig");
const socket = @import("socket.zig");

const Worker = @This();

gpa: Allocator,
responder: Responder,
poll: Poll,
listener: socket.Handle,
/// Whether connections wait to be accepted.
backlog: bool = false,
/// New connections reuse the memory of closed ones.
connections: std.heap.MemoryPool(Connection) = .empty,

/// Connections are tagged with their address, which is never 0.
const listener_tag = 0;

/// How long to wait for free file descriptors, in milliseconds.
const retry_delay = 100;

pub fn run(gpa: Allocator, content: *const Content, listener: socket.Handle) noreturn {
    var worker: Worker = .{
        .gpa = gpa,
        .responder = .init(gpa, content),
        .poll = Poll.init() catch |err| std.process.fatal("epoll: {t}", .{err}),
        .listener = listener,
    };
    // Edge-triggered, because connections that find no free descriptor must not keep the loop spinning.
    worker.poll.add(listener, Poll.readable | Poll.edge_triggered, listener_tag) catch |err|
        std.process.fatal("epoll: {t}", .{err});

    var events: [256]Poll.Event = undefined;
    while (true) worker.turn(&events);
}

fn turn(worker: *Worker, events: []Poll.Event) void {
    const ready = worker.poll.wait(events, if (worker.backlog) retry_delay else -1);
    worker.responder.clock.update();
    for (ready) |event| switch (event.data.ptr) {
        listener_tag => worker.backlog = true,
        else => |tag| worker.serve(@ptrFromInt(tag)),
    };
    if (worker.backlog) worker.acceptAll();
}

fn acceptAll(worker: *Worker) void {
    while (true) {
        const handle = socket.accept(worker.listener) catch |err| switch (err) {
            error.Aborted => continue,
            error.OutOfResources => return,
            error.WouldBlock => {
                worker.backlog = false;
                return;
            },
        };
        worker.admit(handle) catch socket.close(handle);
    }
}

fn admit(worker: *Worker, handle: socket.Handle) !void {
    const connection = try worker.connections.create(worker.gpa);
    errdefer worker.connections.destroy(connection);
    connection.* = .{ .handle = handle };
    try worker.poll.add(handle, Poll.readable, @intFromPtr(connection));
}

fn serve(worker: *Worker, connection: *Connection) void {
    worker.proceed(connection) catch {
        connection.deinit(worker.gpa);
        worker.connections.destroy(connection);
    };
}

/// An error means that the client is gone or cannot be served.
fn proceed(worker: *Worker, connection: *Connection) !void {
    const awaited = connection.awaited;
    try connection.proceed(worker.gpa, &worker.responder);
    if (connection.awaited == awaited) return;
    try worker.poll.change(connection.handle, switch (connection.awaited) {
        .bytes => Poll.readable,
        .room => Poll.writable,
    }, @intFromPtr(connection));
}
