import Events
import JSON

/// The parsed line of a push, for a transport. It cannot be kept beyond the call that receives it.
public struct DeliveredPush: ~Escapable {
    /// The whole line.
    public let json: JSONView

    /// The user whose device the push is for.
    public var user: JSONView? { @_lifetime(copy self) get { json[.user] } }
    /// The name under which the user registered the device.
    public var device: JSONView? { @_lifetime(copy self) get { json[.device] } }
    /// The device's token, in the form of ``Transport/address(_:)``; as registered if the setting `tokens` is `any`.
    public var token: JSONView? { @_lifetime(copy self) get { json[.token] } }
    /// The notification's ID, which is the same for all devices that get the notification.
    public var notificationID: JSONView? { @_lifetime(copy self) get { json[.notificationID] } }
    /// The APNs headers, by name.
    public var headers: JSONView? { @_lifetime(copy self) get { json[.headers] } }
    /// The payload for the device.
    public var payload: JSONView? { @_lifetime(copy self) get { json[.payload] } }

    /// The header `apns-id`.
    public var apnsID: JSONView? { @_lifetime(copy self) get { headers?[.apnsID] } }
    /// The header `apns-topic`; nil if the device registered no topic.
    public var topic: JSONView? { @_lifetime(copy self) get { headers?[.apnsTopic] } }
    /// The header `apns-collapse-id`.
    public var collapseID: JSONView? { @_lifetime(copy self) get { headers?[.apnsCollapseID] } }

    /// The header `apns-expiration`: seconds since 1970, or 0 for a single attempt. Nil if the header is missing or
    /// is not a string with a whole number.
    package static func expiration(_ headers: JSONValue) -> Int64? {
        headers[.apnsExpiration]?.string.flatMap { Int64($0) }
    }
}

/// Parses the lines of pushes for transports.
public struct PushReader: ~Copyable {
    /// Limits for a line. A line may be nested deeper than an event, because its payload alone may be nested as deeply
    /// as an event.
    package static var limits: JSONLimits { JSONLimits(depthMax: JSONLimits().depthMax + 8) }

    private var parser = JSONParser(limits: Self.limits)
    private var line: [UInt8] = []

    /// Makes a reader. Use one reader for many pushes.
    public init() {}

    /// - Returns: The result of `body`.
    /// - Throws: If the line is not JSON, is nested too deeply, or is too long.
    public mutating func read<Result>(
        _ delivery: Delivery, _ body: (DeliveredPush) -> Result
    ) throws(JSONError) -> Result {
        try read(delivery.head, delivery.rest, body)
    }

    /// - Parameter head: The beginning of the line; `rest` follows it.
    package mutating func read<Value>(
        _ head: [UInt8], _ rest: [UInt8], _ body: (DeliveredPush) -> Value
    ) throws(JSONError) -> Value {
        line.removeAll(keepingCapacity: true)
        line += head
        line += rest
        let read = line.withUnsafeBytes { line -> Result<Value, JSONError> in
            do throws(JSONError) {
                let json = try parser.parse(line)
                return .success(body(DeliveredPush(json: JSONView(json))))
            } catch { return .failure(error) }
        }
        return try read.get()
    }
}
