/// A request as it was received.
package struct PushRequest: Sendable {
    /// All headers in the order of the request, including pseudo-headers.
    package var headers: [Header]
    /// The body. If it is longer than ``keptBodyBytesMax``, only its beginning.
    package var body: [UInt8]
    /// The size of the whole body.
    package var bodyBytes: Int

    /// How many bytes of a body are kept: far more than APNs accepts. Further bytes are only counted.
    package static let keptBodyBytesMax = 64 << 10

    package init(headers: [Header], body: [UInt8] = []) {
        self.headers = headers
        self.body = body
        bodyBytes = body.count
    }

    /// The value of the first header with this name, which must be in lower case.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// Adds bytes to the body.
    package mutating func appendBody(_ bytes: some Collection<UInt8>) {
        bodyBytes += bytes.count
        body.append(contentsOf: bytes.prefix(max(0, PushRequest.keptBodyBytesMax - body.count)))
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
