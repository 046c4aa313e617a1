import NIOCore
import Synchronization

/// The connections that are open.
final class OpenConnections: Sendable {
    private let max: Int
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    init(max: Int) { self.max = max }

    /// - Returns: False if the maximum number of connections is already open.
    func add(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let hasRoom = channels.withLock { channels in
            guard channels.count < max else { return false }
            channels[id] = channel
            return true
        }
        if hasRoom { channel.closeFuture.whenComplete { _ in self.channels.withLock { $0[id] = nil } } }
        return hasRoom
    }

    /// Closes all connections at once, even during a request.
    func closeAll() {
        for channel in channels.withLock({ Array($0.values) }) {
            channel.pipeline.fireUserInboundEventTriggered(ConnectionMustEnd())
        }
    }
}
