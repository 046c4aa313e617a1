import CNATS
import Foundation
import Synchronization

/// A connection to one of several NATS servers. When it is lost, the client tries until ``close()`` to connect to the
/// same or another server, and then renews its subscriptions.
///
/// Any thread may use it. Calls that wait block their thread.
package final class NATSConnection: Sendable {
    /// The state that a thread locks before it writes to the socket.
    private struct Writing {
        var link: NATSLink?
        var subscriptions: [UInt64: Subscription] = [:]
        var lastSubscription: UInt64 = 0
        /// Subscriptions that have ended. libnats 3.4.1 may still be handing a message to such a subscription, without
        /// a reference of its own. So their memory is freed only when the link has ended.
        var ended: [LinkSubscription] = []
        var isClosed = false
    }

    /// A subscription, which every new link renews.
    private struct Subscription {
        let subject: String
        let receive: @Sendable (NATSMessage) -> Void
        var ofLink: LinkSubscription?
    }

    package let settings: NATSSettings
    private let writing = Mutex(Writing())
    let replies: Replies
    private let losses = Atomic(0)

    /// Connects to one of the servers.
    ///
    /// - Throws: ``NATSError/unreachable(servers:reason:)``, ``NATSError/authorizationFailed(servers:)``,
    ///   ``NATSError/tlsFailed(servers:reason:)`` and others, if no server accepts the connection at once.
    package init(_ settings: NATSSettings) throws(NATSError) {
        self.settings = settings
        replies = Replies()
        let link = try makeLink(waits: true)
        writing.withLock { $0.link = link }
        let replies = replies
        _ = try addSubscription(replies.subject) { replies.receive($0) }
    }

    deinit { writing.withLock { $0.link }?.close() }

    /// Ends the connection. Requests in flight end with ``NATSError/closed``.
    package func close() {
        let link = writing.withLock { writing in
            writing.isClosed = true
            return writing.link
        }
        link?.close()
        replies.endAll(.closed)
    }

    package var isConnected: Bool { link?.isConnected ?? false }

    /// The server at the other end; nil without a connection.
    package var server: ServerAddress? { link?.server }

    /// A count that grows when a connection is lost. One loss may count twice: when the connection ends, and when
    /// libnats gives up connecting again.
    package var lostConnections: Int { losses.load(ordering: .acquiring) }

    /// Whether the servers refuse the credentials at the moment, for example because the user was removed from their
    /// configuration.
    package var isRefused: Bool { link.map { !$0.isConnected && $0.wasRefused } ?? false }

    /// The largest ``NATSMessage/payloadBytes`` that the server takes: its `max_payload`. 0 while it is not known.
    package var payloadBytesMax: Int { link?.payloadBytesMax ?? 0 }

    private var link: NATSLink? { writing.withLock { $0.link } }

    // MARK: Sending

    /// Sends a message. Returns when the operating system has it, which does not mean that a server has it.
    ///
    /// - Throws: ``NATSError/notConnected`` at once if there is no connection; the message is not kept for later.
    package func publish(_ message: NATSMessage) throws(NATSError) { try publish(message, replySubject: nil) }

    func publish(_ message: NATSMessage, replySubject: String?) throws(NATSError) {
        let (status, lacksHeaders) = try message.withPointer(replySubject: replySubject) { pointer throws(NATSError) in
            try writing.withLock { writing throws(NATSError) in
                guard let link = writing.link, !writing.isClosed else { throw .closed }
                try check(message, link)
                return (replaceIfStalled(link, link.publish(pointer)), link.isConnected && !link.hasHeaders)
            }
        }
        switch status {
        case NATS_OK: return
        case NATS_TIMEOUT: throw .writeStalled
        case NATS_IO_ERROR, NATS_SSL_ERROR: throw .connectionLost
        case NATS_INSUFFICIENT_BUFFER, NATS_CONNECTION_CLOSED: throw .notConnected
        // While libnats connects, it does not know what the new server takes.
        case NATS_MAX_PAYLOAD: throw .notConnected
        case NATS_NO_SERVER_SUPPORT where !lacksHeaders: throw .notConnected
        default: throw .libnats("publish", status)
        }
    }

    /// libnats compares only the body with the server's limit. The server ends the connection of a client that sends
    /// more.
    private func check(_ message: NATSMessage, _ link: NATSLink) throws(NATSError) {
        let (bytes, bytesMax) = (message.payloadBytes, link.payloadBytesMax)
        guard bytes > bytesMax, bytesMax > 0, link.isConnected else { return }
        throw .tooLarge(bytes: bytes, bytesMax: bytesMax)
    }

    /// After a timeout, libnats has written a part of a message or command. It would write the next message behind it,
    /// and the server would take the bytes of the next message for the missing part. So nothing may be written to this
    /// socket any more.
    private func replaceIfStalled(_ link: NATSLink, _ status: natsStatus) -> natsStatus {
        if status == NATS_TIMEOUT { link.close() }
        return status
    }

    /// Waits until the server has handled all that was sent before.
    package func flush(atMost limit: Duration) throws(NATSError) {
        guard let link else { throw .notConnected }
        switch link.flush(milliseconds: limit.wholeMilliseconds) {
        case NATS_OK: return
        case NATS_TIMEOUT: throw .timedOut(subject: "PING", limit: limit)
        default: throw .notConnected
        }
    }

    // MARK: Subscriptions

    /// - Returns: The number of the subscription.
    func addSubscription(
        _ subject: String, _ receive: @escaping @Sendable (NATSMessage) -> Void
    ) throws(NATSError) -> UInt64 {
        guard Subject.isValid(subject) else { throw .invalidSubject(subject) }
        return try writing.withLock { writing throws(NATSError) in
            guard !writing.isClosed else { throw .closed }
            let ofLink = subscribe(subject, receive, writing.link)
            writing.lastSubscription += 1
            writing.subscriptions[writing.lastSubscription] = Subscription(
                subject: subject, receive: receive, ofLink: ofLink)
            return writing.lastSubscription
        }
    }

    /// - Returns: Nil if there is no link that can subscribe now. The next link renews all subscriptions.
    private func subscribe(
        _ subject: String, _ receive: @escaping @Sendable (NATSMessage) -> Void, _ link: NATSLink?
    ) -> LinkSubscription? {
        guard let link, !link.isClosed else { return nil }
        do throws(NATSError) { return try link.subscribe(subject, receive) } catch {
            link.close()
            return nil
        }
    }

    func removeSubscription(_ number: UInt64) {
        writing.withLock { writing in
            guard let ended = writing.subscriptions.removeValue(forKey: number)?.ofLink, let link = writing.link else {
                return
            }
            writing.ended.append(ended)
            _ = replaceIfStalled(link, ended.end())
        }
    }

    // MARK: Links

    private func makeLink(waits: Bool) throws(NATSError) -> NATSLink {
        try NATSLink(settings, waits: waits) { [weak self] change in self?.linkChanged(change) }
    }

    private func linkChanged(_ change: LinkChange) {
        losses.add(1, ordering: .acquiringAndReleasing)
        replies.endAll(.connectionLost)
        if change == .closed { replaceLinkLater() }
    }

    /// libnats gives a connection up if a server refuses the credentials twice, and this class closes a link after an
    /// incomplete write. The servers' configuration may change, so a new link tries again.
    ///
    /// The pause is on a thread of its own, because libnats has only one thread for such callbacks.
    private func replaceLinkLater() {
        let pause = settings.reconnectPause
        Thread.detachNewThread { [weak self] in
            Thread.sleep(forTimeInterval: Double(pause.wholeMilliseconds) / 1000)
            self?.replaceLink()
        }
    }

    private func replaceLink() {
        let isReplaced = writing.withLock { writing in
            guard !writing.isClosed, writing.link?.isClosed != false else { return true }
            do throws(NATSError) {
                let link = try makeLink(waits: false)
                for number in writing.subscriptions.keys {
                    guard let subscription = writing.subscriptions[number] else { continue }
                    writing.subscriptions[number]?.ofLink = try link.subscribe(
                        subscription.subject, subscription.receive)
                }
                writing.link = link
                writing.ended = []
                return true
            } catch {
                // For example, the credentials file is missing at the moment.
                return false
            }
        }
        if !isReplaced { replaceLinkLater() }
    }
}
