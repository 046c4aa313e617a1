import COpenSSL

/// Why a key or a certificate cannot be read, made or used.
package enum SigningError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Bytes from outside are not what they should be.
    case unreadable(reason: String)
    /// A call of libcrypto failed: memory or randomness is lacking, or it does not accept a value.
    case libcrypto(reason: String)

    package var description: String {
        switch self {
        case .unreadable(let reason): reason
        case .libcrypto(let reason): "libcrypto: \(reason)"
        }
    }

    /// The reason of the call that just failed.
    ///
    /// Empties the thread's error queue: TLS code of others reads the same queue (SSL_get_error(3)).
    static func last() -> SigningError {
        defer { ERR_clear_error() }
        guard let reason = ERR_reason_error_string(ERR_get_error()) else {
            return .libcrypto(reason: "no reason given")
        }
        return .libcrypto(reason: String(cString: reason))
    }

    /// - Throws: ``last()`` unless a call returned 1 or more.
    static func check(_ result: Int32) throws(SigningError) {
        guard result > 0 else { throw last() }
    }
}
