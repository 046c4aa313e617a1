import CNGHTTP2

/// The parts of a response's header that Belfry uses.
struct ResponseHead: Equatable, Sendable {
    var status = 0
    /// APNs' own ID of the push, which only development servers send (Apple, "Handling notification responses from
    /// APNs").
    var uniqueID: String?
    var retryAfter: String?
}

/// Decodes header blocks with libnghttp2. The decoder must get every block of its connection, in order.
final class HeaderDecoder {
    private let inflater: OpaquePointer

    init() {
        var inflater: OpaquePointer?
        precondition(nghttp2_hd_inflate_new(&inflater) == 0, "libnghttp2 has no memory")
        guard let inflater else { preconditionFailure("libnghttp2 gave no inflater") }
        self.inflater = inflater
    }

    deinit { nghttp2_hd_inflate_del(inflater) }

    /// - Returns: Nil if the block cannot be decoded. The connection is then unusable (RFC 7541, section 2.2).
    func decode(_ block: UnsafeRawBufferPointer) -> ResponseHead? {
        var head = ResponseHead()
        guard var next = block.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return head }
        let end = next + block.count
        while true {
            var field = nghttp2_nv()
            var flags: CInt = 0
            let count = nghttp2_hd_inflate_hd2(inflater, &field, &flags, next, end - next, 1)
            guard count >= 0 else { return nil }
            next += count
            if flags & CInt(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 { head.read(field) }
            if flags & CInt(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 { break }
            if flags & CInt(NGHTTP2_HD_INFLATE_EMIT.rawValue) == 0, next == end { break }
        }
        nghttp2_hd_inflate_end_headers(inflater)
        return head
    }
}

extension ResponseHead {
    fileprivate mutating func read(_ field: nghttp2_nv) {
        let name = UnsafeBufferPointer(start: field.name, count: field.namelen)
        let value = UnsafeBufferPointer(start: field.value, count: field.valuelen)
        switch name.count {
        case 7 where name.first == UInt8(ascii: ":"): status = Self.number(value)
        case 11 where name.elementsEqual("retry-after".utf8): retryAfter = String(decoding: value, as: UTF8.self)
        case 14 where name.elementsEqual("apns-unique-id".utf8): uniqueID = String(decoding: value, as: UTF8.self)
        default: break
        }
    }

    /// The status as a number. For a text other than three digits, the result is 0, which is not a status.
    private static func number(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        guard text.count == 3, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return 0 }
        return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
