import COpenSSL

/// Why a key or a certificate cannot be read, made or used.
package enum SigningError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The input is malformed or unsupported.
    case unreadable(reason: String)
    /// A libcrypto call failed: memory or randomness ran out, or libcrypto did not accept the input.
    case libcrypto(reason: String)

    package var description: String {
        switch self {
        case .unreadable(let reason): reason
        case .libcrypto(let reason): "libcrypto: \(reason)"
        }
    }

    /// The error of the libcrypto call that has just failed; "no reason given" if libcrypto gives no reason.
    ///
    /// Empties libcrypto's error queue of this thread, because TLS code on the thread uses the same
    /// queue (SSL_get_error(3)).
    static func last() -> SigningError {
        defer { ERR_clear_error() }
        let reason = ERR_reason_error_string(ERR_get_error()).map { String(cString: $0) }
        return .libcrypto(reason: reason ?? "no reason given")
    }

    /// - Parameter result: The result of a libcrypto call.
    /// - Throws: ``last()`` if the result is less than 1.
    static func check(_ result: Int32) throws(SigningError) {
        guard result > 0 else { throw last() }
    }
}
