import Events
import JSON
import PipelineKit

/// Which device an event speaks of.
struct DeviceName {
    /// Container, environment and user, as a key.
    let user: [UInt8]
    let name: String

    init(user: [UInt8], name: String) {
        self.user = user
        self.name = name
    }

    init(_ event: JSONValue) throws(Rejection) {
        user = try event.userKey()
        name = try event.text(.device)
    }
}

/// A `device.register` event, checked.
struct Registration {
    let device: DeviceName
    let transport: String
    let token: String
    let topic: String?
    /// Container, environment, transport, topic and token, as a key: what no two devices hold at a time.
    let address: [UInt8]

    init(_ event: JSONValue, _ rules: TokenRules = TokenRules()) throws(Rejection) {
        device = try DeviceName(event)
        transport = try event.text(.transport)
        token = try rules.address(event.text(.token), at: transport)
        topic = event[.topic].map(\.isNull) ?? true ? nil : try event.text(.topic)
        address = try event.key("container", "environment", "transport") + Self.key(topic) + Self.key(token)
    }

    /// - Parameter device: Its user is a whole key.
    init(_ device: DeviceName, transport: String, token: String, topic: String?) {
        self.device = device
        self.transport = transport
        self.token = token
        self.topic = topic
        let place = device.user.split(separator: 0).prefix(2).flatMap { $0 + [0] }
        address = place + Self.key(transport) + Self.key(topic) + Self.key(token)
    }

    var app: Delivery.App {
        let place = device.user.split(separator: 0).prefix(2).map { String(decoding: $0, as: UTF8.self) }
        return Delivery.App(container: place[0], environment: place[1], topic: topic)
    }

    private static func key(_ text: String?) -> [UInt8] { Array((text ?? "").utf8) + [0] }
}

extension JSONValue {
    /// Container, environment and user, as a key.
    func userKey() throws(Rejection) -> [UInt8] { try key(.container, .environment, .user) }

    /// The members' texts in one. A zero ends each: no text that we take holds one.
    func key(_ first: StaticString, _ second: StaticString, _ third: StaticString) throws(Rejection) -> [UInt8] {
        let parts = (try keyPart(first), try keyPart(second), try keyPart(third))
        guard let one = parts.0.plain, let two = parts.1.plain, let three = parts.2.plain else {
            return [parts.0, parts.1, parts.2].flatMap { part in (part.withUTF8 { Array($0) } ?? []) + [0] }
        }
        return [UInt8](unsafeUninitializedCapacity: one.count + two.count + three.count + 3) { buffer, count in
            for part in [one, two, three] {
                UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                    .copyMemory(from: part)
                buffer[count + part.count] = 0
                count += part.count + 1
            }
        }
    }

    /// The member's text, which must not be empty.
    func text(_ name: StaticString) throws(Rejection) -> String { try keyPart(name).string ?? "" }

    /// The member, which must be of that kind.
    func required(_ name: StaticString, _ kind: Kind, _ noun: StaticString) throws(Rejection) -> JSONValue {
        guard let value = self[name] else {
            throw Rejection(code: "field.missing", reason: "\(name) is needed: \(noun)", path: "\(name)")
        }
        guard value.kind == kind else {
            throw Rejection(code: "field.type", reason: "\(name) must be \(noun)", path: "\(name)")
        }
        return value
    }

    /// The member, or nil where it is missing or null.
    func optional(_ name: StaticString, _ kind: Kind, _ noun: StaticString) throws(Rejection) -> JSONValue? {
        self[name].map(\.isNull) ?? true ? nil : try required(name, kind, noun)
    }

    private func keyPart(_ name: StaticString) throws(Rejection) -> JSONValue {
        let value = try required(name, .string, "a text")
        let isGood = value.plain.map { $0.count > 0 } ?? value.withUTF8 { !$0.contains(0) } ?? false
        guard isGood else {
            throw Rejection(code: "field.value", reason: "\(name) is empty or holds U+0000", path: "\(name)")
        }
        return value
    }
}
