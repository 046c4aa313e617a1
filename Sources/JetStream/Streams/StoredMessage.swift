import Foundation
import JSON
import NATS

/// A message of a stream.
package struct StoredMessage: Hashable, Sendable {
    /// The position in the stream, from 1.
    package var sequence: UInt64
    package var subject: String
    package var headers: [NATSHeader] = []
    package var body: [UInt8] = []

    package init(_ sequence: UInt64, _ subject: String, headers: [NATSHeader] = [], body: [UInt8] = []) {
        (self.sequence, self.subject, self.headers, self.body) = (sequence, subject, headers, body)
    }

    /// The value of the first header with this name.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

extension StoredMessage {
    /// Reads the member `message` of the answer to a request for one message. Nil if it is malformed.
    init?(_ message: JSONValue) {
        guard let sequence = message["seq"]?.uint64, let subject = message["subject"]?.string,
            let headers = StoredMessage.bytes(message["hdrs"]), let body = StoredMessage.bytes(message["data"])
        else { return nil }
        self.init(sequence, subject, headers: StoredMessage.headers(headers), body: body)
    }

    /// Empty if the value is missing or not a string; nil if the string is not Base64.
    private static func bytes(_ value: JSONValue?) -> [UInt8]? {
        guard let text = value?.string else { return [] }
        return Data(base64Encoded: text).map { Array($0) }
    }

    /// Reads headers in the form of the client protocol: a line with the version, and a line `NAME: VALUE` for each.
    private static func headers(_ bytes: [UInt8]) -> [NATSHeader] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\r\n").dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return NATSHeader(String(line[..<colon]), String(value))
        }
    }
}
