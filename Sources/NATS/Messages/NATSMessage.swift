import CNATS
import Glibc

/// One header of a message. A name is compared byte by byte.
package struct NATSHeader: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
}

/// A message to or from a server.
package struct NATSMessage: Hashable, Sendable {
    package var subject: String
    /// The subject on which the sender expects an answer.
    package var replySubject: String?
    package var headers: [NATSHeader] = []
    package var body: [UInt8] = []

    package init(_ subject: String, replySubject: String? = nil, headers: [NATSHeader] = [], body: [UInt8] = []) {
        (self.subject, self.replySubject, self.headers, self.body) = (subject, replySubject, headers, body)
    }

    /// The value of the first header with this name.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The size that counts for the server's limit, in bytes: the body, and the headers as they are sent.
    package var payloadBytes: Int {
        guard !headers.isEmpty else { return body.count }
        let version = "NATS/1.0\r\n".utf8.count
        let lines = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + ": \r\n".utf8.count }
        return body.count + version + lines + "\r\n".utf8.count
    }

    /// The status of a message that the server itself made, such as 503 for a request without a responder.
    package var status: Int? { header("Status").flatMap { Int($0) } }
}

extension NATSMessage {
    /// Copies a message of libnats.
    init(_ message: OpaquePointer) {
        let reply = natsMsg_GetReply(message).map { String(cString: $0) }
        self.init(
            String(cString: natsMsg_GetSubject(message)), replySubject: reply,
            headers: NATSMessage.headers(of: message),
            body: Array(
                UnsafeRawBufferPointer(
                    start: natsMsg_GetData(message), count: Int(natsMsg_GetDataLength(message)))))
    }

    private static func headers(of message: OpaquePointer) -> [NATSHeader] {
        var names: UnsafeMutablePointer<UnsafePointer<CChar>?>?
        var count: CInt = 0
        guard natsMsgHeader_Keys(message, &names, &count) == NATS_OK, let names else { return [] }
        defer { free(names) }
        return (0..<Int(count)).flatMap { index in
            names[index].map { name in values(of: name, in: message).map { NATSHeader(String(cString: name), $0) } }
                ?? []
        }
    }

    private static func values(of name: UnsafePointer<CChar>, in message: OpaquePointer) -> [String] {
        var values: UnsafeMutablePointer<UnsafePointer<CChar>?>?
        var count: CInt = 0
        guard natsMsgHeader_Values(message, name, &values, &count) == NATS_OK, let values else { return [] }
        defer { free(values) }
        return (0..<Int(count)).compactMap { values[$0].map { String(cString: $0) } }
    }
}

extension NATSMessage {
    /// Calls `send` with a message of libnats that has copies of this message's parts.
    ///
    /// - Throws: If libnats or a server could not take the message as it is. libnats does not check subjects, and a
    ///   server ends the connection after a malformed one.
    func withPointer<Result>(
        replySubject: String? = nil, _ send: (OpaquePointer) throws(NATSError) -> Result
    ) throws(NATSError) -> Result {
        try checkParts(replySubject)
        var pointer: OpaquePointer?
        var status = body.withUnsafeBytes { bytes in
            natsMsg_Create(
                &pointer, subject, replySubject ?? self.replySubject,
                bytes.assumingMemoryBound(to: CChar.self).baseAddress, CInt(bytes.count))
        }
        defer { natsMsg_Destroy(pointer) }
        for header in headers where status == NATS_OK { status = natsMsgHeader_Add(pointer, header.name, header.value) }
        guard status == NATS_OK, let pointer else { throw .libnats("make message", status) }
        return try send(pointer)
    }

    private func checkParts(_ replySubject: String?) throws(NATSError) {
        for subject in [subject, replySubject ?? self.replySubject ?? "a"] where !Subject.isValid(subject) {
            throw .invalidSubject(subject)
        }
        for header in headers where !header.isValid { throw .invalidHeader(name: header.name) }
        guard body.count <= Int(CInt.max) else { throw .tooLarge(bytes: body.count, bytesMax: Int(CInt.max)) }
    }
}

extension NATSHeader {
    var isValid: Bool {
        let isName = name.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: ":") }
        return isName && !name.isEmpty && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

enum Subject {
    /// Whether the text is words of printable characters without spaces, separated by dots. Wildcards are words.
    static func isValid(_ text: String) -> Bool {
        let hasOnlyPrintable = text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
        return hasOnlyPrintable && !text.isEmpty
            && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
    }
}
