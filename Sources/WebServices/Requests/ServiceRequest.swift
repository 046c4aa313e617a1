import CloudKitModel
import Foundation
import HTTPServer
import JSON
import Time

/// An HTTP request to the gateway.
struct ServiceRequest: Sendable {
    var method: String
    /// The path, percent-encoded and without the query.
    var path: String
    /// The text after `?`; empty if the request has no query.
    var query: String
    /// Returns all values of a header. The name must be in lower case.
    var header: @Sendable (String) -> [String]
    var body: [UInt8]
    /// The client, as the limits on clients count it.
    var client: ClientNetwork
    /// Identifies the request in the access log and in errors.
    var id: String
    var now: Instant
    /// Calls its argument at most once, when the client disconnects or closes the sending side of its connection before
    /// the request is answered.
    var whenClientIsGone: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// The decoded value of a parameter in the query. Nil if the parameter is missing or empty, or if its
    /// percent-encoding is not valid.
    func parameter(_ name: String) -> String? {
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2, parts[0].elementsEqual(name.utf8) else { continue }
            return Substring(parts[1]).removingPercentEncoding
        }
        return nil
    }
}

/// The answer to a request: a JSON object, or a file.
struct ServiceAnswer: Sendable {
    var status = 200
    var body: [UInt8]
    var contentType = "application/json; charset=UTF-8"
    /// Headers beyond those that every answer has.
    var headers: [(name: String, value: String)] = []
    var notes = RequestNotes()

    init(status: Int = 200, body: [UInt8]) { (self.status, self.body) = (status, body) }

    init(status: Int = 200, body: borrowing ByteBuffer) {
        self.status = status
        self.body = Array(body.bytes)
    }

    static func object(_ write: (inout ByteBuffer) throws -> Void) rethrows -> ServiceAnswer {
        ServiceAnswer(body: try ByteBuffer.object(write))
    }
}

/// The parts of an entry in the access log that the HTTP server does not know.
struct RequestNotes: Sendable {
    var user: String?
    /// The name of the key that the request was made with.
    var key: String?
    var error: ServerErrorCode?
}
