/// What is found out about a request while it is checked.
package struct Inspection: Sendable {
    package let request: PushRequest
    package var token: ProviderToken?
    /// Whether all that concerns the provider's identity was in order.
    package var isAuthenticated = false
    /// As the client sent it, if it is a UUID.
    package var id: String?
    package var type: PushType?
    package var topic: String?
    /// The device's, in lower case.
    package var device: String?
    /// Seconds since 1970; 0 is "now or never".
    package var expiration: Int64?
    package var collapseID: String?
    /// What a stricter APNs might object to.
    package var warnings: [String] = []

    package init(_ request: PushRequest) { self.request = request }

    package var bundle: String? { topic.map { type?.bundle(of: $0) ?? PushType.bundle(of: $0) } }
}
