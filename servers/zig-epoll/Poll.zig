//! A set of sockets to wait for, level-triggered unless the events say otherwise. Each socket has a
//! number, its tag.

const linux = @import("std").os.linux;
const socket = @import("socket.zig");

const Poll = @This();

handle: socket.Handle,

pub const Event = linux.epoll_event;

pub const readable = linux.EPOLL.IN;
pub const writable = linux.EPOLL.OUT;
pub const edge_triggered = linux.EPOLL.ET;

pub fn init() !Poll {
    return .{ .handle = @intCast(try socket.check(linux.epoll_create1(linux.EPOLL.CLOEXEC))) };
}

pub fn add(poll: Poll, handle: socket.Handle, events: u32, tag: usize) !void {
    try poll.control(linux.EPOLL.CTL_ADD, handle, events, tag);
}

pub fn change(poll: Poll, handle: socket.Handle, events: u32, tag: usize) !void {
    try poll.control(linux.EPOLL.CTL_MOD, handle, events, tag);
}

fn control(poll: Poll, operation: u32, handle: socket.Handle, events: u32, tag: usize) !void {
    var event: Event = .{ .events = events, .data = .{ .ptr = tag } };
    _ = try socket.check(linux.epoll_ctl(poll.handle, operation, handle, &event));
}

/// Waits until some of the sockets are ready, or for `timeout` ms; -1 for no limit.
pub fn wait(poll: Poll, events: []Event, timeout: i32) []Event {
    const result = linux.epoll_wait(poll.handle, events.ptr, @intCast(events.len), timeout);
    // The only possible error is an interruption by a signal; the caller waits again.
    return if (linux.errno(result) == .SUCCESS) events[0..result] else events[0..0];
}
