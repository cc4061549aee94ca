//! System calls on non-blocking sockets, with errors instead of numbers; those of std.Io block a
//! thread.

const std = @import("std");
const linux = std.os.linux;
const Threaded = std.Io.Threaded;

pub const Handle = linux.fd_t;

/// A listening socket that shares its port with those of the other workers; the kernel distributes connections.
pub fn listen(address: *const std.Io.net.IpAddress) !Handle {
    var storage: Threaded.PosixAddress = undefined;
    const length = Threaded.addressToPosix(address, &storage);

    const flags = linux.SOCK.STREAM | linux.SOCK.NONBLOCK | linux.SOCK.CLOEXEC;
    const handle: Handle = @intCast(try check(linux.socket(storage.any.family, flags, linux.IPPROTO.TCP)));
    errdefer close(handle);
    try enable(handle, linux.SOL.SOCKET, linux.SO.REUSEADDR);
    try enable(handle, linux.SOL.SOCKET, linux.SO.REUSEPORT);
    // Accepted sockets inherit it.
    try enable(handle, linux.IPPROTO.TCP, linux.TCP.NODELAY);
    _ = try check(linux.bind(handle, &storage.any, length));
    _ = try check(linux.listen(handle, 1024));
    return handle;
}

fn enable(handle: Handle, level: i32, option: u32) !void {
    try std.posix.setsockopt(handle, level, option, &std.mem.toBytes(@as(c_int, 1)));
}

pub const AcceptError = error{
    WouldBlock,
    /// The client was gone before it was accepted.
    Aborted,
    /// There are no file descriptors or no memory left.
    OutOfResources,
};

pub fn accept(listener: Handle) AcceptError!Handle {
    const result = linux.accept4(listener, null, null, linux.SOCK.NONBLOCK | linux.SOCK.CLOEXEC);
    return switch (linux.errno(result)) {
        .SUCCESS => @intCast(result),
        .AGAIN => error.WouldBlock,
        .MFILE, .NFILE, .NOBUFS, .NOMEM => error.OutOfResources,
        else => error.Aborted,
    };
}

pub const Error = error{ WouldBlock, Disconnected };

/// Never returns 0: the end of the stream is `Disconnected`.
pub fn receive(handle: Handle, buffer: []u8) Error!usize {
    const length = try transferred(linux.recvfrom(handle, buffer.ptr, buffer.len, 0, null, null));
    return if (length == 0) error.Disconnected else length;
}

/// Sends both parts, or as much as the socket takes.
pub fn send(handle: Handle, first: []const u8, second: []const u8) Error!usize {
    if (second.len == 0) {
        return transferred(linux.sendto(handle, first.ptr, first.len, linux.MSG.NOSIGNAL, null, 0));
    }
    const parts = [_]std.posix.iovec_const{
        .{ .base = first.ptr, .len = first.len },
        .{ .base = second.ptr, .len = second.len },
    };
    return transferred(linux.sendmsg(handle, &.{
        .name = null,
        .namelen = 0,
        .iov = &parts,
        .iovlen = parts.len,
        .control = null,
        .controllen = 0,
        .flags = 0,
    }, linux.MSG.NOSIGNAL));
}

fn transferred(result: usize) Error!usize {
    return switch (linux.errno(result)) {
        .SUCCESS => result,
        // A level-triggered epoll reports the socket again after an interruption.
        .AGAIN, .INTR => error.WouldBlock,
        else => error.Disconnected,
    };
}

/// Closes our side; the client may still be sending.
pub fn finishSending(handle: Handle) void {
    _ = linux.shutdown(handle, linux.SHUT.WR);
}

pub fn close(handle: Handle) void {
    _ = linux.close(handle);
}

/// For calls that fail only at the start, or rarely.
pub fn check(result: usize) !usize {
    return switch (linux.errno(result)) {
        .SUCCESS => result,
        .ADDRINUSE => error.AddressInUse,
        .ADDRNOTAVAIL => error.AddressNotAvailable,
        .ACCES, .PERM => error.AccessDenied,
        .MFILE, .NFILE, .NOBUFS, .NOMEM, .NOSPC => error.OutOfResources,
        else => |errno| std.posix.unexpectedErrno(errno),
    };
}
