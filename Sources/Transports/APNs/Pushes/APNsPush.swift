import Events
import JSON
import PipelineKit
import Time

/// A push for APNs: its own header fields, already encoded, and the fields that it shares with other pushes.
final class APNsPush: Sendable {
    /// Headers that many pushes have in common.
    struct Kind: Hashable, Sendable {
        var topic: String
        var pushType: String
        var priority: String
    }

    let delivery: Delivery
    let kind: Kind
    /// `:path`, then `apns-id`, `apns-expiration` and `apns-collapse-id`: see ``HTTP2Request/own``.
    let fields: [UInt8]
    let pathEnd: Int
    let bodyRange: Range<Int>
    /// Token and collapse ID. Pushes with the same key are sent one after the other. Nil if the delivery has no
    /// collapse ID. A collapse ID that ``APNsPushReader/collapsesRepeats`` adds does not count.
    let orderKey: [UInt8]?
    /// When APNs stops trying to deliver the push; nil in the cases that ``PushHeaders/expiresAt`` names.
    let expiration: Instant?

    init(
        _ delivery: Delivery, kind: Kind, fields: [UInt8], pathEnd: Int, bodyRange: Range<Int>, orderKey: [UInt8]?,
        expiration: Instant?
    ) {
        self.delivery = delivery
        self.kind = kind
        self.fields = fields
        self.pathEnd = pathEnd
        self.bodyRange = bodyRange
        self.orderKey = orderKey
        self.expiration = expiration
    }

    /// The bytes that contain the body at ``bodyRange``. Pushes to several devices share them without a copy.
    var body: [UInt8] { delivery.rest }
}

/// Why a push cannot be sent at all.
struct UnsendablePush: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// Turns deliveries into pushes for APNs.
struct APNsPushReader: ~Copyable {
    /// How many bytes a push's own header fields may have. APNs allows 8000 bytes for all header fields of a request
    /// (MAX_HEADER_LIST_SIZE), so this leaves room for the fields that pushes share.
    private static let ownFieldsBytesMax = 4_096

    /// Whether an alert push without a collapse ID gets its `apns-id` as collapse ID, so that a repeated push is
    /// shown only once.
    let collapsesRepeats: Bool
    private var reader = PushReader()
    /// The last kind that passed the rules. Consecutive pushes mostly have the same kind, which is not checked again.
    private var fitting: (kind: APNsPush.Kind, usesCertificate: Bool)?

    init(collapsesRepeats: Bool) { self.collapsesRepeats = collapsesRepeats }

    /// - Parameters:
    ///   - topic: The app's topic, for pushes that name no topic.
    ///   - usesCertificate: Whether the app uses a certificate instead of a key.
    mutating func read(
        _ delivery: Delivery, topic: String, usesCertificate: Bool = false
    ) throws(UnsendablePush) -> APNsPush {
        let push = try read(delivery, topic)
        if let fitting, fitting.kind == push.kind, fitting.usesCertificate == usesCertificate { return push }
        try PushRules.check(push.kind, usesCertificate: usesCertificate)
        fitting = (push.kind, usesCertificate)
        return push
    }

    private mutating func read(_ delivery: Delivery, _ topic: String) throws(UnsendablePush) -> APNsPush {
        let delivery = delivery.rest.isEmpty ? delivery.withLineInRest : delivery
        let read: Result<APNsPush, UnsendablePush>
        do throws(JSONError) {
            read = try reader.read(delivery) { [collapsesRepeats] push in
                do throws(UnsendablePush) {
                    return .success(try Self.push(delivery, push, topic, collapsesRepeats))
                } catch {
                    return .failure(error)
                }
            }
        } catch { throw UnsendablePush("not a push: \(error)") }
        return try read.get()
    }

    private static func push(
        _ delivery: Delivery, _ read: DeliveredPush, _ topic: String, _ collapsesRepeats: Bool
    ) throws(UnsendablePush) -> APNsPush {
        guard let token = (read.token?.value).flatMap(DecodedText.init), let headers = read.headers?.value,
            let payload = read.payload?.value
        else { throw UnsendablePush("not a push with a token, headers and a payload") }
        guard payload.isObject else { throw UnsendablePush("the payload is not a JSON object") }
        guard token.withBytes(DeviceToken.isToken) else { throw UnsendablePush(DeviceToken.rejection) }
        let header = try PushHeaders(headers)
        guard let id = header.id else { throw UnsendablePush("not a push with an apns-id") }
        let start = payload.offset - delivery.head.count
        guard start >= 0 else { throw UnsendablePush("the payload comes before the shared part of the line") }
        let kind = APNsPush.Kind(
            topic: header.topic ?? topic, pushType: header.pushType ?? "alert", priority: header.priority ?? "10")
        try PushRules.check(payload, of: kind)
        let collapse = header.collapseID ?? (collapsesRepeats && kind.pushType == "alert" ? id : nil)
        var fields: [UInt8] = []
        fields.reserveCapacity(256)
        let pathEnd = token.withBytes { writePath($0, to: &fields) }
        id.withBytes { HPACK.append("apns-id", $0, to: &fields) }
        header.expiration?.withBytes { HPACK.append("apns-expiration", $0, to: &fields) }
        collapse?.withBytes { HPACK.append("apns-collapse-id", $0, to: &fields) }
        guard fields.count <= ownFieldsBytesMax else {
            throw UnsendablePush("the push's headers have \(fields.count) bytes; the limit is \(ownFieldsBytesMax)")
        }
        return APNsPush(
            delivery, kind: kind, fields: fields, pathEnd: pathEnd,
            bodyRange: start..<(start + payload.raw.count),
            orderKey: header.collapseID.map { token.bytes + [0] + $0.bytes }, expiration: header.expiresAt)
    }

    private static func writePath(_ token: UnsafeRawBufferPointer, to fields: inout [UInt8]) -> Int {
        let prefix: StaticString = "/3/device/"
        fields.append(0x04)
        HPACK.append(prefix.utf8CodeUnitCount + token.count, prefix: 7, pattern: 0, to: &fields)
        prefix.withUTF8Buffer { fields.append(contentsOf: $0) }
        for byte in token { fields.append(DeviceToken.lowercase(byte)) }
        return fields.count
    }
}

extension Delivery {
    /// The same delivery, but with its whole line in ``Delivery/rest``, where the payload must be.
    fileprivate var withLineInRest: Delivery {
        var moved = Delivery(id: id, transport: transport, app: app, head: [], rest: head)
        moved.attempts = attempts
        return moved
    }
}

/// The opaque token of a device: hexadecimal digits, which a request has in its path.
enum DeviceToken {
    /// Belfry's own limit. Apple documents no limit ("Sending notification requests to APNs" says "variable length").
    static let digitsMax = 512

    /// The reason for the rejection of a malformed token.
    static let rejection = "the device token is not an even number of hexadecimal digits, 2 to \(digitsMax)"

    static func isToken(_ text: some Collection<UInt8>) -> Bool {
        2...digitsMax ~= text.count && text.count.isMultiple(of: 2) && text.allSatisfy(isDigit)
    }

    static func lowercase(_ byte: UInt8) -> UInt8 { byte | 0x20 }

    private static func isDigit(_ byte: UInt8) -> Bool {
        0x30...0x39 ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20
    }
}
