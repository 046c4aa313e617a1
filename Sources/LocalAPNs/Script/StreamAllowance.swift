/// The number of streams that a connection may have open, which is announced in SETTINGS.
package struct StreamAllowance: Sendable, Equatable {
    /// The number that was announced last.
    package private(set) var announced: Int
    /// The number for a client that has shown any certificate, or has sent a valid token.
    private var full: Int
    private var getsFull: Bool
    private var hasFallen = false

    /// A client with tokens has one stream until its first request with a valid token, as at APNs (Sending notification
    /// requests to APNs).
    package init(full: Int, hasCertificate: Bool) {
        self.full = full
        getsFull = hasCertificate
        announced = hasCertificate ? full : min(1, full)
    }

    /// - Parameter isAuthenticated: Whether the request had a valid token or certificate.
    /// - Parameter fallsAfterError: See ``Quirks/fallAfterError``. This was seen at APNs, but is not documented.
    /// - Returns: The number to announce; nil if it does not change.
    package mutating func answered(status: Int, isAuthenticated: Bool, fallsAfterError: Bool) -> Int? {
        getsFull = getsFull || isAuthenticated
        if fallsAfterError, StreamAllowance.isError(status) { hasFallen = true }
        if status == 200 { hasFallen = false }
        return announce()
    }

    /// - Returns: The number to announce; nil if it does not change.
    package mutating func set(_ streams: Int) -> Int? {
        full = streams
        return announce()
    }

    /// Whether the status counts as an error. 410 does not, as at APNs (Handling notification responses from APNs).
    package static func isError(_ status: Int) -> Bool { (400...499).contains(status) && status != 410 }

    private mutating func announce() -> Int? {
        let streams = getsFull && !hasFallen ? full : min(1, full)
        guard streams != announced else { return nil }
        announced = streams
        return streams
    }
}
