//! The value of the Date field, updated once a second.
//!
//! Tests: zig test Clock.zig

const std = @import("std");
const linux = std.os.linux;

const Clock = @This();

seconds: u64 = 0,
text: [length]u8 = undefined,

const length = "Thu, 01 Jan 1970 00:00:00 GMT".len;
const weekdays = [_][]const u8{ "Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed" };
const months = [_][]const u8{ "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

pub fn update(clock: *Clock) void {
    var now: linux.timespec = undefined;
    _ = linux.clock_gettime(.REALTIME_COARSE, &now);
    const seconds: u64 = @intCast(now.sec);
    if (seconds == clock.seconds) return;
    clock.* = .{ .seconds = seconds, .text = format(seconds) };
}

fn format(seconds: u64) [length]u8 {
    const epoch: std.time.epoch.EpochSeconds = .{ .secs = seconds };
    const day = epoch.getEpochDay();
    const year = day.calculateYearDay();
    const month = year.calculateMonthDay();
    const time = epoch.getDaySeconds();
    var text: [length]u8 = undefined;
    _ = std.fmt.bufPrint(&text, "{s}, {d:0>2} {s} {d} {d:0>2}:{d:0>2}:{d:0>2} GMT", .{
        weekdays[day.day % 7],
        month.day_index + 1,
        months[month.month.numeric() - 1],
        year.year,
        time.getHoursIntoDay(),
        time.getMinutesIntoHour(),
        time.getSecondsIntoMinute(),
    }) catch unreachable;
    return text;
}

test format {
    try std.testing.expectEqualStrings("Thu, 01 Jan 1970 00:00:00 GMT", &format(0));
    try std.testing.expectEqualStrings("Sun, 06 Nov 1994 08:49:37 GMT", &format(784111777));
    try std.testing.expectEqualStrings("Thu, 29 Feb 2024 23:59:59 GMT", &format(1709251199));
}
