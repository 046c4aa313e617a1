import Glibc
import TestSupport

@testable import NATS

/// A limit that is long enough for a loaded machine, and short enough that a hang is noticed.
let testLimit = Duration.seconds(20)

extension NATSSettings {
    /// Short pauses, so that tests do not wait.
    init(_ servers: NATSServers, _ change: (inout NATSSettings) -> Void = { _ in }) throws {
        try self.init(servers: servers.addresses)
        (pingInterval, reconnectPause) = (.milliseconds(200), .milliseconds(20))
        change(&self)
    }
}

extension NATSConnection {
    convenience init(_ servers: NATSServers, _ change: (inout NATSSettings) -> Void = { _ in }) throws {
        try self.init(NATSSettings(servers, change))
    }
}

struct WaitTimedOut: Error {}

/// Waits until a condition that no descriptor reports becomes true.
func wait(atMost limit: Duration = testLimit, until condition: () throws -> Bool) throws {
    let end = ContinuousClock.now + limit
    while !(try condition()) {
        guard ContinuousClock.now < end else { throw WaitTimedOut() }
        usleep(2000)
    }
}

extension NATSInbox {
    /// Waits until `count` messages have come, and returns all that have; fewer if no more come in time.
    func next(_ count: Int = 1) -> [NATSMessage] {
        var messages: [NATSMessage] = []
        while messages.count < count {
            var descriptor = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, CInt(testLimit.wholeMilliseconds)) > 0 else { break }
            messages += take()
        }
        return messages
    }
}

func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

extension NATSMessage {
    var text: String { String(decoding: body, as: UTF8.self) }
}
