import EventLog
import Glibc
import NATS

/// Beacons as NATS messages on one subject, outside of JetStream.
final class JetStreamBeacons: HomeBeacons {
    private let connection: NATSConnection
    private let subject: String
    private let subscription: NATSSubscription

    /// More waiting messages than this are dropped. The next ones say the same.
    private static let bytesMax = 64 << 10
    /// How long the server may take to begin the subscription.
    private static let subscriptionMax = Duration.seconds(5)

    init(_ connection: NATSConnection, subject: String) throws(NATSError) {
        (self.connection, self.subject) = (connection, subject)
        subscription = try connection.subscribe(subject, bytesMax: Self.bytesMax)
        try connection.flush(atMost: Self.subscriptionMax)
    }

    func send(_ message: [UInt8]) {
        do throws(NATSError) { try connection.publish(NATSMessage(subject, body: message)) } catch {
            // The next message may have a connection.
        }
    }

    func receive(atMost limit: Duration) -> [[UInt8]] {
        var wait = pollfd(fd: subscription.inbox.fileDescriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&wait, 1, Int32(clamping: Int64((limit / .milliseconds(1)).rounded(.up))))
        return subscription.inbox.take().map(\.body)
    }

    var losses: Int { connection.lostConnections }
    var isConnected: Bool { connection.isConnected }
}
