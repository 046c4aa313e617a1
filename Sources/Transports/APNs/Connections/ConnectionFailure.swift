import Glibc
import NIOCore
import NIOPosix
import NIOSSL

/// Why a connection to a server fails. The raw values are part of the reasons in recorded outcomes, so they must not
/// change.
enum ConnectionFailure: String, Error, CaseIterable {
    case notFound = "is not found in DNS"
    case refused = "refuses connections"
    case silent = "does not answer"
    case noRoute = "cannot be reached from this network"
    case closed = "closed the connection"
    case untrusted = "shows a certificate that is not trusted"
    case otherName = "shows a certificate for another name"
    case noTLS = "speaks no TLS"
    case noHandshake = "did not agree on TLS"
    case noHTTP2 = "speaks no HTTP/2"
    case noTunnel = "does not answer CONNECT"
    case noTLSAnswer = "does not answer the TLS handshake"
    case noSettings = "sends no SETTINGS of HTTP/2"

    /// - Returns: Nil for an error without a case of its own.
    init?(_ error: any Error) {
        switch error {
        case let error as ConnectionFailure: self = error
        case let error as NIOConnectionError:
            guard let failure = Self.of(error) else { return nil }
            self = failure
        case let error as IOError:
            guard let failure = Self.of(errno: error.errnoCode) else { return nil }
            self = failure
        case is SocketAddressError.UnknownHost: self = .notFound
        case ChannelError.connectTimeout: self = .silent
        case ChannelError.eof, ChannelError.ioOnClosedChannel, NIOSSLError.uncleanShutdown: self = .closed
        case NIOSSLError.handshakeFailed(let error): self = Self.of(error)
        case NIOSSLError.unableToValidateCertificate: self = .untrusted
        case let error as NIOSSLExtraError where error == .failedToValidateHostname: self = .otherName
        default: return nil
        }
    }

    private static func of(_ error: NIOConnectionError) -> ConnectionFailure? {
        guard error.connectionErrors.isEmpty else {
            return error.connectionErrors.lazy.compactMap { ConnectionFailure($0.error) }.first
        }
        return error.dnsAError == nil && error.dnsAAAAError == nil ? .silent : .notFound
    }

    private static func of(errno: CInt) -> ConnectionFailure? {
        switch errno {
        case ECONNREFUSED: .refused
        case ETIMEDOUT: .silent
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL: .noRoute
        case ECONNRESET, ECONNABORTED, EPIPE, ENOTCONN: .closed
        default: nil
        }
    }

    /// Searches the error's text, because most of BoringSSL's errors can be told apart only by their text.
    private static func of(_ error: BoringSSLError) -> ConnectionFailure {
        guard case .sslError(let errors) = error, !errors.contains(.eofDuringHandshake) else { return .closed }
        let text = "\(errors)"
        if text.contains("CERTIFICATE_VERIFY_FAILED") { return .untrusted }
        return text.contains("WRONG_VERSION_NUMBER") ? .noTLS : .noHandshake
    }
}

/// The server violated HTTP/2.
struct ProtocolBreach: Error {
    let reason: String
}

/// The names of a pool's server and proxy, for the reasons of failures.
struct ServerName {
    let hostAndPort: String
    private let proxy: String?

    init(_ host: String, _ port: Int, proxy: ProxyAddress?) {
        hostAndPort = Self.hostAndPort(host, port)
        self.proxy = proxy.map { "the proxy \(Self.hostAndPort($0.host, $0.port))" }
    }

    private static func hostAndPort(_ host: String, _ port: Int) -> String { "\(bracketed(host)):\(port)" }

    /// The host in the form that a port can follow: an IPv6 address gets brackets (RFC 3986, section 3.2.2).
    static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

    /// The reason for a failure: which side failed, and how.
    ///
    /// - Parameter isDialing: Whether the failure happened before the socket was connected. If so, the reason names
    ///   the proxy, if there is a proxy.
    func words(for error: any Error, isDialing: Bool = false) -> String {
        let failure = ConnectionFailure(error)
        let whom = isDialing || failure == .noTunnel ? proxy ?? hostAndPort : hostAndPort
        if let failure { return "\(whom) \(failure.rawValue)" }
        switch error {
        case let error as ProxyRefused: return "\(proxy ?? whom) opened no tunnel: \(error.reason)"
        case let error as ProtocolBreach: return "\(hostAndPort) breaks HTTP/2: \(error.reason)"
        case let error as IOError: return "\(whom): \(String(cString: strerror(error.errnoCode)))"
        default: return "\(whom): \(error)"
        }
    }
}
