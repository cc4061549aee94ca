//! The relevant parts of the head of a request, parsed from the bytes received so far (RFC 9112).

const std = @import("std");
const ascii = std.ascii;
const mem = std.mem;

const Request = @This();

method: Method,
/// The target without its query.
path: []const u8,
version: Version,
keep_alive: bool,
/// The length of the head in bytes.
length: usize,

pub const Method = enum { get, head, other };
pub const Version = enum { @"1.0", @"1.1" };
pub const Error = error{ Malformed, TooLong, UnknownVersion };

/// The longest head, in bytes.
pub const max_length = 8192;

/// The first request in `bytes`, or null if it is incomplete. A fault is found as soon as its line is complete.
pub fn parse(bytes: []const u8) Error!?Request {
    var lines: Lines = .{ .bytes = bytes };
    // A server should ignore empty lines before a request.
    const request_line = while (try lines.next()) |line| {
        if (line.len > 0) break line;
    } else return null;
    const method, const target, const version = try splitRequestLine(request_line);

    var fields: Fields = .{};
    while (try lines.next()) |line| {
        if (line.len == 0) break;
        try fields.read(line);
    } else return null;
    if (fields.hosts > 1 or (fields.hosts == 0 and version == .@"1.1")) return error.Malformed;

    return .{
        .method = method,
        .path = pathOf(target),
        .version = version,
        .keep_alive = fields.keepAlive(version),
        .length = lines.position,
    };
}

const Lines = struct {
    bytes: []const u8,
    position: usize = 0,

    /// The next line without its end, or null if it is incomplete.
    fn next(lines: *Lines) Error!?[]const u8 {
        const end = mem.findScalarPos(u8, lines.bytes, lines.position, '\n') orelse
            return if (lines.bytes.len < max_length) null else error.TooLong;
        const line = lines.bytes[lines.position..end];
        lines.position = end + 1;
        // Servers that disagree about line ends allow requests to be smuggled.
        return mem.cutSuffix(u8, line, "\r") orelse error.Malformed;
    }
};

fn splitRequestLine(line: []const u8) Error!struct { Method, []const u8, Version } {
    const method, const after_method = mem.cutScalar(u8, line, ' ') orelse return error.Malformed;
    const target, const version = mem.cutScalar(u8, after_method, ' ') orelse return error.Malformed;
    if (!isToken(method) or target.len == 0) return error.Malformed;
    for (target) |byte| if (!ascii.isPrint(byte)) return error.Malformed;
    return .{
        if (mem.eql(u8, method, "GET")) .get else if (mem.eql(u8, method, "HEAD")) .head else .other,
        target,
        try readVersion(version),
    };
}

fn readVersion(text: []const u8) Error!Version {
    const number = mem.cutPrefix(u8, text, "HTTP/") orelse return error.Malformed;
    if (number.len != 3 or number[1] != '.') return error.Malformed;
    if (!ascii.isDigit(number[0]) or !ascii.isDigit(number[2])) return error.Malformed;
    if (number[0] != '1') return error.UnknownVersion;
    return if (number[2] == '0') .@"1.0" else .@"1.1";
}

fn pathOf(target: []const u8) []const u8 {
    const path = target[0 .. mem.findScalar(u8, target, '?') orelse target.len];
    // The absolute form, which is sent to proxies; a server must understand it too.
    const scheme = "http://";
    if (!ascii.startsWithIgnoreCase(path, scheme)) return path;
    const slash = mem.findScalarPos(u8, path, scheme.len, '/') orelse return "/";
    return path[slash..];
}

/// The fields that affect the connection.
const Fields = struct {
    hosts: usize = 0,
    close: bool = false,
    keep_alive: bool = false,
    body: bool = false,

    fn read(fields: *Fields, line: []const u8) Error!void {
        const name, const untrimmed = mem.cutScalar(u8, line, ':') orelse return error.Malformed;
        const value = mem.trim(u8, untrimmed, " \t");
        if (!isToken(name)) return error.Malformed;
        for (value) |byte| if (ascii.isControl(byte) and byte != '\t') return error.Malformed;

        if (ascii.eqlIgnoreCase(name, "host")) {
            fields.hosts += 1;
        } else if (ascii.eqlIgnoreCase(name, "connection")) {
            var options = mem.splitScalar(u8, value, ',');
            while (options.next()) |untrimmed_option| {
                const option = mem.trim(u8, untrimmed_option, " \t");
                if (ascii.eqlIgnoreCase(option, "close")) fields.close = true;
                if (ascii.eqlIgnoreCase(option, "keep-alive")) fields.keep_alive = true;
            }
        } else if (ascii.eqlIgnoreCase(name, "content-length")) {
            if (value.len == 0 or mem.findNone(u8, value, "0123456789") != null) return error.Malformed;
            if (mem.findNone(u8, value, "0") != null) fields.body = true;
        } else if (ascii.eqlIgnoreCase(name, "transfer-encoding")) {
            fields.body = true;
        }
    }

    /// The connection closes after a request with a body: nothing here needs one, so none is read.
    fn keepAlive(fields: Fields, version: Version) bool {
        if (fields.close or fields.body) return false;
        return version == .@"1.1" or fields.keep_alive;
    }
};

fn isToken(text: []const u8) bool {
    for (text) |byte| if (!token_bytes.isSet(byte)) return false;
    return text.len > 0;
}

const token_bytes = bytes: {
    var set: std.StaticBitSet(256) = .initEmpty();
    for ("!#$%&'*+-.^_`|~") |byte| set.set(byte);
    for (0..256) |byte| if (ascii.isAlphanumeric(byte)) set.set(byte);
    break :bytes set;
};

// Tests: zig test Request.zig

const testing = std.testing;

fn expectFault(expected: Error, bytes: []const u8) !void {
    try testing.expectError(expected, parse(bytes));
}

fn expectKeepAlive(expected: bool, bytes: []const u8) !void {
    try testing.expectEqual(expected, (try parse(bytes)).?.keep_alive);
}

fn expectPath(expected: []const u8, comptime target: []const u8) !void {
    const request = (try parse("GET " ++ target ++ " HTTP/1.1\r\nHost: a\r\n\r\n")).?;
    try testing.expectEqualStrings(expected, request.path);
}

test "a request" {
    const bytes = "GET /hello?x=1 HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n";
    const request = (try parse(bytes)).?;
    try testing.expectEqual(.get, request.method);
    try testing.expectEqualStrings("/hello", request.path);
    try testing.expectEqual(.@"1.1", request.version);
    try testing.expect(request.keep_alive);
    try testing.expectEqual(bytes.len, request.length);
}

test "every part of a request but the whole wants more" {
    const bytes = "\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for (0..bytes.len) |length| try testing.expectEqual(null, try parse(bytes[0..length]));
    try testing.expect(try parse(bytes) != null);
}

test "the first of several requests" {
    const first = "GET /byte HTTP/1.1\r\nHost: a\r\n\r\n";
    const request = (try parse(first ++ "GET / HTTP/1.1\r\nHo")).?;
    try testing.expectEqualStrings("/byte", request.path);
    try testing.expectEqual(first.len, request.length);
}

test "empty lines before a request belong to it" {
    const bytes = "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    try testing.expectEqual(bytes.len, (try parse(bytes)).?.length);
}

test "methods" {
    const end = " / HTTP/1.1\r\nHost: a\r\n\r\n";
    try testing.expectEqual(.get, (try parse("GET" ++ end)).?.method);
    try testing.expectEqual(.head, (try parse("HEAD" ++ end)).?.method);
    try testing.expectEqual(.other, (try parse("POST" ++ end)).?.method);
    // Methods are case-sensitive, unlike field names.
    try testing.expectEqual(.other, (try parse("get" ++ end)).?.method);
}

test "forms of the target" {
    try expectPath("/", "/");
    try expectPath("/", "/?");
    try expectPath("/sse", "http://host:80/sse?x=/y");
    try expectPath("/", "HTTP://host");
    try expectPath("/", "http://host?x=/y");
    try expectPath("*", "*");
}

test "whether the connection stays" {
    try expectKeepAlive(true, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    try expectKeepAlive(true, "GET / HTTP/1.9\r\nHost: a\r\n\r\n");
    try expectKeepAlive(false, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    try expectKeepAlive(false, "GET / HTTP/1.1\r\nHost: a\r\ncoNNection:x,\t cLoSe \r\n\r\n");
    try expectKeepAlive(false, "GET / HTTP/1.0\r\n\r\n");
    try expectKeepAlive(true, "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
    try expectKeepAlive(false, "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n");
}

test "a body ends the connection" {
    try expectKeepAlive(true, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 00\r\n\r\n");
    try expectKeepAlive(false, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
    try expectKeepAlive(false, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
}

test "faults in the request line" {
    try expectFault(error.Malformed, "\n");
    try expectFault(error.Malformed, "GET / HTTP/1.1\n");
    try expectFault(error.Malformed, " GET / HTTP/1.1\r\n");
    try expectFault(error.Malformed, "GET\r\n");
    try expectFault(error.Malformed, "GET /\r\n");
    try expectFault(error.Malformed, "GET  HTTP/1.1\r\n");
    try expectFault(error.Malformed, "GET / \r\n");
    try expectFault(error.Malformed, "GET / / HTTP/1.1\r\n");
    try expectFault(error.Malformed, "G(T / HTTP/1.1\r\n");
    try expectFault(error.Malformed, "GET /\x00 HTTP/1.1\r\n");
    try expectFault(error.Malformed, "GET / http/1.1\r\n");
    try expectFault(error.Malformed, "GET / HTTP/1.10\r\n");
    try expectFault(error.UnknownVersion, "GET / HTTP/2.0\r\n");
}

test "faults in the fields" {
    const start = "GET / HTTP/1.1\r\nHost: a\r\n";
    try expectFault(error.Malformed, start ++ "Accept\r\n");
    try expectFault(error.Malformed, start ++ ": x\r\n");
    try expectFault(error.Malformed, start ++ "Accept : x\r\n");
    try expectFault(error.Malformed, start ++ " folded: x\r\n");
    try expectFault(error.Malformed, start ++ "Accept: x\ry\r\n");
    try expectFault(error.Malformed, start ++ "Accept: x\x00\r\n");
    try expectFault(error.Malformed, start ++ "Content-Length: \r\n");
    try expectFault(error.Malformed, start ++ "Content-Length: +1\r\n");
    try expectFault(error.Malformed, start ++ "Host: b\r\n\r\n");
    try expectFault(error.Malformed, "GET / HTTP/1.1\r\n\r\n");
}

test "the longest head, and one byte more" {
    const start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    const longest = start ++ "x" ** (max_length - start.len - 4) ++ "\r\n\r\n";
    try testing.expectEqual(max_length, (try parse(longest)).?.length);
    try testing.expectEqual(null, try parse(longest[0 .. max_length - 1]));
    const too_long = start ++ "x" ** (max_length - start.len - 3) ++ "\r\n\r\n";
    try expectFault(error.TooLong, too_long[0..max_length]);
    try expectFault(error.TooLong, "x" ** max_length);
}

test "no bytes break it, and what it found in a part it finds in the whole" {
    var prng: std.Random.DefaultPrng = .init(testing.random_seed);
    const random = prng.random();
    const pieces = [_][]const u8{
        "GET",  "/",        "http://", "?",  " ",    ":",    "\r\n",                   "\n", "\r",
        "HTTP", "HTTP/1.1", "Host: a", "\t", "\x00", "\xff", "Connection: keep-alive", ",",  "Content-Length: 1",
    };
    for (0..20_000) |_| {
        var buffer: [512]u8 = undefined;
        var writer: std.Io.Writer = .fixed(&buffer);
        for (0..random.uintLessThan(usize, 20)) |_| {
            const piece = pieces[random.uintLessThan(usize, pieces.len)];
            try writer.writeAll(piece);
        }
        const bytes = writer.buffered();
        const whole = parse(bytes);
        for (0..bytes.len) |length| {
            const found = parse(bytes[0..length]);
            if (found) |incomplete| {
                if (incomplete) |request| try testing.expectEqual(request.length, (try whole).?.length);
            } else |fault| try testing.expectError(fault, whole);
        }
    }
}
