import Glibc
import NIOCore
import Synchronization

/// The connections that are open.
final class OpenConnections: Sendable {
    private struct Channels {
        var all: [ObjectIdentifier: any Channel] = [:]
        /// Has no entry for a client without connections.
        var countsOfClients: [ClientNetwork: Int] = [:]
    }

    private let max: Int
    /// Nil if one client may have as many connections as all clients together.
    private let maxPerClient: Int?
    private let channels = Mutex(Channels())

    init(_ options: WebServerOptions) {
        max = options.limits.connectionsMax(openFilesMax: Self.openFilesMax)
        let limitsEachClient = options.limits.limitsEachClient && options.forwardedClient == nil
        maxPerClient = limitsEachClient ? Swift.max(max / 4, 1) : nil
    }

    /// How many files and sockets this process may have open.
    private static var openFilesMax: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }

    /// - Returns: False if all clients, or this client, already have the maximum number of connections.
    func add(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let client = maxPerClient == nil ? nil : channel.remoteAddress.flatMap(ClientNetwork.init)
        let hasRoom = channels.withLock { channels in
            guard channels.all.count < max else { return false }
            if let client, let maxPerClient {
                guard channels.countsOfClients[client, default: 0] < maxPerClient else { return false }
                channels.countsOfClients[client, default: 0] += 1
            }
            channels.all[id] = channel
            return true
        }
        if hasRoom { channel.closeFuture.whenComplete { _ in self.remove(id, of: client) } }
        return hasRoom
    }

    private func remove(_ id: ObjectIdentifier, of client: ClientNetwork?) {
        channels.withLock { channels in
            channels.all[id] = nil
            guard let client, let count = channels.countsOfClients[client] else { return }
            channels.countsOfClients[client] = count == 1 ? nil : count - 1
        }
    }

    /// Closes all connections at once, even during a request.
    func closeAll() {
        for channel in channels.withLock({ Array($0.all.values) }) {
            channel.pipeline.fireUserInboundEventTriggered(ConnectionMustEnd())
        }
    }
}
