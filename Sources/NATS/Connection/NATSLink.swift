import CNATS
import Glibc

/// A change of a link's state. libnats tells it on a thread of its own.
enum LinkChange: Sendable {
    case disconnected
    /// libnats gave the connection up, or the owner closed it. The link is of no more use.
    case closed
}

/// One connection of libnats, which reconnects by itself until it is closed.
///
/// `@unchecked`, because the compiler does not know that libnats locks its connections: any thread may use the pointer,
/// which never changes.
final class NATSLink: @unchecked Sendable {
    private let pointer: OpaquePointer

    /// Makes a connection.
    ///
    /// - Parameter waits: Whether to return only after a server has accepted the connection. If false, libnats connects
    ///   in the background and tries again until it succeeds.
    init(
        _ settings: NATSSettings, waits: Bool, onChange: @escaping @Sendable (LinkChange) -> Void
    ) throws(NATSError) {
        let context = Unmanaged.passRetained(LinkContext(settings.credentials, onChange))
        var pointer: OpaquePointer?
        do throws(NATSError) {
            let options = try LinkOptions(settings, context.toOpaque())
            if !waits { try options.connectInBackground() }
            let status = natsConnection_Connect(&pointer, options.pointer)
            guard status == NATS_OK || status == NATS_NOT_YET_CONNECTED else { throw .connecting(settings, status) }
        } catch {
            context.release()
            throw error
        }
        guard let pointer else { preconditionFailure("libnats returned no connection and no error") }
        self.pointer = pointer
    }

    deinit { natsConnection_Destroy(pointer) }

    /// Ends the connection. The owner is told ``LinkChange/closed``.
    func close() { natsConnection_Close(pointer) }

    var isConnected: Bool { natsConnection_Status(pointer) == NATS_CONN_STATUS_CONNECTED }
    var isClosed: Bool { natsConnection_IsClosed(pointer) }

    /// Whether the server takes messages with headers. Servers from 2.2 on do.
    var hasHeaders: Bool { natsConnection_HasHeaderSupport(pointer) == NATS_OK }

    /// The largest payload that the server takes, in bytes.
    var payloadBytesMax: Int { Int(natsConnection_GetMaxPayload(pointer)) }

    /// The server's address; nil without a connection.
    var server: ServerAddress? {
        var text = [CChar](repeating: 0, count: 512)
        guard natsConnection_GetConnectedUrl(pointer, &text, text.count) == NATS_OK else { return nil }
        let bytes = text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
        do { return try ServerAddress(String(decoding: bytes, as: UTF8.self)) } catch { return nil }
    }

    /// Whether the last attempt to connect failed because of the credentials.
    var wasRefused: Bool {
        var text: UnsafePointer<CChar>?
        return natsConnection_GetLastError(pointer, &text) == NATS_CONNECTION_AUTH_FAILED
    }

    func publish(_ message: OpaquePointer) -> natsStatus { natsConnection_PublishMsg(pointer, message) }

    func flush(milliseconds: Int64) -> natsStatus { natsConnection_FlushTimeout(pointer, max(1, milliseconds)) }

    func subscribe(
        _ subject: String, _ handler: @escaping @Sendable (NATSMessage) -> Void
    ) throws(NATSError) -> LinkSubscription {
        try LinkSubscription(pointer, subject, handler)
    }
}

/// What the callbacks of a link need. It lives until libnats has called the last one.
final class LinkContext: Sendable {
    let seed: String?
    let onChange: @Sendable (LinkChange) -> Void

    init(_ credentials: NATSCredentials, _ onChange: @escaping @Sendable (LinkChange) -> Void) {
        if case .nkey(let seed) = credentials { self.seed = seed.text } else { seed = nil }
        self.onChange = onChange
    }
}

/// A subscription of one link. It ends with its last reference.
///
/// `@unchecked`, because the compiler does not know that libnats locks its subscriptions.
final class LinkSubscription: @unchecked Sendable {
    private final class Handler: Sendable {
        let receive: @Sendable (NATSMessage) -> Void
        init(_ receive: @escaping @Sendable (NATSMessage) -> Void) { self.receive = receive }
    }

    private let pointer: OpaquePointer

    fileprivate init(
        _ connection: OpaquePointer, _ subject: String, _ receive: @escaping @Sendable (NATSMessage) -> Void
    ) throws(NATSError) {
        let handler = Unmanaged.passRetained(Handler(receive))
        var pointer: OpaquePointer?
        let status = natsConnection_Subscribe(
            &pointer, connection, subject,
            { _, _, message, closure in
                guard let message, let closure else { return }
                Unmanaged<Handler>.fromOpaque(closure).takeUnretainedValue().receive(NATSMessage(message))
                natsMsg_Destroy(message)
            }, handler.toOpaque())
        guard status == NATS_OK, let pointer else {
            handler.release()
            throw .libnats("subscribe", status)
        }
        self.pointer = pointer
        // libnats drops messages above these limits. NATSInbox has a limit of its own.
        natsSubscription_SetPendingLimits(pointer, -1, -1)
        natsSubscription_SetOnCompleteCB(
            pointer, { closure in closure.map { Unmanaged<Handler>.fromOpaque($0).release() } }, handler.toOpaque())
    }

    deinit { natsSubscription_Destroy(pointer) }

    /// Tells the server that the subscription has ended.
    func end() -> natsStatus { natsSubscription_Unsubscribe(pointer) }
}

extension NATSError {
    /// The error of a failed libnats call. The texts of libnats' statuses are constants, so they contain no credential.
    static func libnats(_ operation: String, _ status: natsStatus) -> NATSError {
        .failed(operation: operation, reason: String(cString: natsStatus_GetText(status)))
    }

    /// The error of a failed attempt to connect.
    static func connecting(_ settings: NATSSettings, _ status: natsStatus) -> NATSError {
        let text = String(cString: natsStatus_GetText(status))
        return switch status {
        case NATS_CONNECTION_AUTH_FAILED: .authorizationFailed(servers: settings.servers)
        case NATS_SSL_ERROR:
            // libnats builds this text from the server's certificate. The texts of other errors may contain a
            // credential.
            .tlsFailed(
                servers: settings.servers, reason: nats_GetLastError(nil).map { String(cString: $0) } ?? text)
        case NATS_SECURE_CONNECTION_WANTED:
            .tlsFailed(servers: settings.servers, reason: "the server does not offer TLS")
        case NATS_SECURE_CONNECTION_REQUIRED:
            .tlsFailed(servers: settings.servers, reason: "the server requires TLS")
        // The server did not send the text to sign.
        case NATS_INVALID_ARG where settings.credentials.isNKey:
            .invalidCredentials(reason: "the server has no users with an nkey")
        default: .unreachable(servers: settings.servers, reason: text)
        }
    }
}
