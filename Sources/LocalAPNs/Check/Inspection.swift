/// What the checks find out about a request.
package struct Inspection: Sendable {
    package let request: PushRequest
    package var token: ProviderToken?
    /// Whether the token or certificate of the provider was accepted.
    package var isAuthenticated = false
    /// As the client sent it, if it is a UUID.
    package var id: String?
    package var type: PushType?
    package var topic: String?
    /// The device token, in lower case.
    package var device: String?
    /// Seconds since 1970; 0 is "now or never".
    package var expiration: Int64?
    package var collapseID: String?
    /// Faults that a stricter APNs might reject.
    package var warnings: [String] = []

    package init(_ request: PushRequest) { self.request = request }

    package var bundle: String? { topic.map { type?.bundle(of: $0) ?? PushType.bundle(of: $0) } }
}
