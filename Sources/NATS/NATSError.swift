/// Why the NATS client cannot do what it was asked to do. No case contains a credential.
package enum NATSError: Error, Hashable, Sendable {
    /// The address is not `nats://HOST:PORT` or `tls://HOST:PORT`.
    case invalidServer(String, reason: String)
    /// The settings name no server.
    case withoutServers
    /// The credentials cannot be used, for example because a file is missing.
    case invalidCredentials(reason: String)
    /// A certificate or key cannot be used.
    case invalidCertificate(file: String, reason: String)
    /// No server accepted a connection.
    case unreachable(servers: [ServerAddress], reason: String)
    /// A server refused the credentials.
    case authorizationFailed(servers: [ServerAddress])
    /// The TLS handshake failed.
    case tlsFailed(servers: [ServerAddress], reason: String)
    /// There is no connection at the moment. Nothing was sent.
    case notConnected
    /// The connection was lost. What was sent may have arrived.
    case connectionLost
    /// The server did not read for ``NATSSettings/writeTimeout``. A part of the message may have arrived, but not all
    /// of it. The connection is replaced.
    case writeStalled
    /// No answer came in time. The request may have arrived.
    case timedOut(subject: String, limit: Duration)
    /// The server knows no subscriber for the subject.
    case noResponders(subject: String)
    /// The subject is empty, or has an empty token, a space or a control character. Nothing was sent.
    case invalidSubject(String)
    /// The name or value of a header has characters that a header cannot have. Nothing was sent.
    case invalidHeader(name: String)
    /// The server does not take messages of this size. Nothing was sent.
    case tooLarge(bytes: Int, bytesMax: Int)
    /// The connection was closed by its owner. A message was not sent, but a request in flight may have arrived.
    case closed
    /// A call of libnats or of the system failed.
    case failed(operation: String, reason: String)
    /// What answers at the address does not speak NATS.
    case notAServer(ServerAddress, reason: String)
}

extension NATSError: CustomStringConvertible {
    package var description: String { "NATS: " + (hint.map { "\(problem); \($0)" } ?? problem) }

    /// The description without `NATS:` and without advice.
    package var problem: String {
        switch self {
        case .invalidServer(let text, let reason): "'\(text)' is not the address of a server: \(reason)"
        case .withoutServers: "no server is named"
        case .invalidCredentials(let reason): reason
        case .invalidCertificate(let file, let reason): "cannot use the certificate or key in \(file): \(reason)"
        case .unreachable(let servers, let reason): "cannot connect to \(NATSError.list(servers)): \(reason)"
        case .authorizationFailed(let servers): "the credentials were refused by \(NATSError.list(servers))"
        case .tlsFailed(let servers, let reason): "no TLS connection to \(NATSError.list(servers)): \(reason)"
        case .notConnected: "there is no connection to a server"
        case .connectionLost: "the connection to the server was lost"
        case .writeStalled: "the server stopped reading in the middle of a message"
        case .timedOut(let subject, let limit): "no answer on '\(subject)' within \(limit)"
        case .noResponders(let subject): "no program answers on '\(subject)'"
        case .invalidSubject(let subject): "'\(NATSError.printable(subject))' is not a subject"
        case .invalidHeader(let name): "the header '\(NATSError.printable(name))' cannot be sent"
        case .tooLarge(let bytes, let bytesMax): "the message has \(bytes) bytes; the server allows \(bytesMax)"
        case .closed: "the connection is closed"
        case .failed(let operation, let reason): "cannot \(operation): \(reason)"
        case .notAServer(let server, let reason): "\(server) is not a NATS server: \(reason)"
        }
    }

    private var hint: String? {
        switch self {
        case .invalidServer(_, let reason) where reason.contains("password"):
            "write the user and the password into the credentials, not into the address"
        case .invalidServer: "write nats://HOST:PORT, or tls://HOST:PORT if TLS is required"
        case .withoutServers: "name at least one"
        case .unreachable: "check that the servers run, and the addresses"
        case .authorizationFailed: "check the credentials here, and the users in the servers' configuration"
        case .tlsFailed: "check the certificates of the servers, and the authorities that this client trusts"
        case .invalidSubject: "a subject is words without spaces, separated by dots"
        case .invalidHeader: "a header's name is printable ASCII without a colon, and its value is one line"
        case .tooLarge: "raise max_payload in the servers' configuration"
        case .notAServer: "check the address"
        default: nil
        }
    }

    private static func list(_ servers: [ServerAddress]) -> String {
        servers.map(\.description).joined(separator: ", ")
    }

    /// At most 80 characters of a text, without control characters.
    private static func printable(_ text: String) -> String {
        String(text.prefix(80).map { $0.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 } ? $0 : "?" })
    }
}
