import NIOCore
import Synchronization

/// The connections that are open.
final class OpenConnections: Sendable {
    private let max: Int
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    init(max: Int) { self.max = max }

    /// - Returns: False where there are too many.
    func add(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let isRoom = channels.withLock { channels in
            guard channels.count < max else { return false }
            channels[id] = channel
            return true
        }
        if isRoom { channel.closeFuture.whenComplete { _ in self.channels.withLock { $0[id] = nil } } }
        return isRoom
    }

    /// Does not wait for what is under way.
    func closeAll() {
        for channel in channels.withLock({ Array($0.values) }) {
            channel.pipeline.fireUserInboundEventTriggered(ConnectionMustEnd())
        }
    }
}
