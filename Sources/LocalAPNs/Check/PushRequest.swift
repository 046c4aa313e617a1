/// A request as it came over the wire.
package struct PushRequest: Sendable {
    /// In their order, pseudo-headers included.
    package var headers: [Header]
    /// What is kept of the body: all of it up to ``bodyBytesMax``.
    package var body: [UInt8]
    /// What the client sent, in bytes.
    package var bodyBytes: Int

    /// Far beyond what APNs takes; a longer body is counted, not kept.
    package static let bodyBytesMax = 64 << 10

    package init(headers: [Header], body: [UInt8] = []) {
        self.headers = headers
        self.body = body
        bodyBytes = body.count
    }

    /// The first header of that name, which is in lower case.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    package mutating func take(_ bytes: some Collection<UInt8>) {
        bodyBytes += bytes.count
        body.append(contentsOf: bytes.prefix(max(0, PushRequest.bodyBytesMax - body.count)))
    }
}

package struct Header: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
