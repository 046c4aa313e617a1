/// What the checks find out about a request.
package struct Inspection: Sendable {
    package let request: PushRequest
    package var providerToken: ProviderToken?
    /// Whether the token or certificate of the provider was accepted.
    package var isAuthenticated = false
    /// The client's `apns-id`. Nil if it is missing or invalid, or if an earlier check rejected the request.
    package var id: String?
    package var type: PushType?
    package var topic: String?
    /// The device token, in lower case.
    package var deviceToken: String?
    /// The value of `apns-expiration`, in seconds since 1970. A push with 0 is never stored.
    package var expiration: Int64?
    package var collapseID: String?
    /// Remarks on faults of the request, even if it is accepted.
    package var warnings: [String] = []

    package init(_ request: PushRequest) { self.request = request }

    /// The bundle ID in the topic.
    package var bundle: String? { topic.map { type?.bundle(of: $0) ?? PushType.bundle(of: $0) } }
}
