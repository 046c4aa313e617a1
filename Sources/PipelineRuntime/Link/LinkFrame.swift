import Events
import JSON
import Time

/// The control frames of a link: small JSON objects, told apart by `type`.
///
/// A message is one control frame; `batch`, `outputs` and `produce` are followed by one frame of events, the log's
/// lines as they are. Unknown members are ignored, so that a later version can say more.
package enum LinkFrame {
    /// The version in `open` and `hello`; another one is answered with `link.version`.
    package static let version = 1

    /// - Parameter keep: The first sequence that the consumer may ask for again; nil: it does not say.
    package static func open(name: String, after: UInt64, credit: Int, keep: UInt64? = nil) -> [UInt8] {
        frame("open") {
            $0.field("protocol", LinkFrame.version)
            $0.field("name", name)
            $0.field("after", after)
            $0.field("credit", credit)
            if let keep { $0.field("keep", keep) }
        }
    }

    package static func credit(_ bytes: Int, keep: UInt64? = nil) -> [UInt8] {
        frame("credit") {
            $0.field("bytes", bytes)
            if let keep { $0.field("keep", keep) }
        }
    }

    package static func close() -> [UInt8] { frame("close") { _ in } }

    /// - Parameter checksum: Of a producer's lines up to `after`; see ``LineChecksum``.
    package static func welcome(
        log: String, identity: LogIdentity, last: UInt64, after: UInt64?, first: UInt64 = 1, checksum: UInt32? = nil,
        refused: UInt64? = nil
    ) -> [UInt8] {
        frame("welcome") {
            $0.field("protocol", LinkFrame.version)
            $0.field("log", log)
            $0.field("identity", identity.description)
            $0.field("last", last)
            if let after { $0.field("after", after) }
            if first > 1 { $0.field("first", first) }
            if let checksum { $0.field("checksum", UInt64(checksum)) }
            if let refused { $0.field("refused", refused) }
        }
    }

    /// What is wrong with the outputs that a program sends; nil where nothing is.
    ///
    /// - Parameter lines: The second frame, which holds the outputs. Empty if there is none.
    package static func fault(ofOutputs control: JSONValue, _ lines: UnsafeRawBufferPointer) -> String? {
        guard lines.isEmpty || Lines.areWhole(lines) else { return "the last output has no end of line" }
        guard let count = control[.count] else { return nil }
        let found = Lines.count(lines)
        return control.natural(.count) == found
            ? nil
            : "\"count\" is \(String(decoding: count.raw.prefix(20), as: UTF8.self)), and the lines behind it are \(found)"
    }

    package static func batch(first: UInt64, count: Int, now: Instant) -> [UInt8] {
        frame("batch") {
            $0.field("first", first)
            $0.field("count", UInt64(count))
            $0.field("now", now.microseconds)
        }
    }

    package static func time(after: UInt64, now: Instant, mark: UInt64) -> [UInt8] {
        frame("time") {
            $0.field("after", after)
            $0.field("now", now.microseconds)
            $0.field("mark", mark)
        }
    }

    package static func error(_ code: String, _ reason: String) -> [UInt8] {
        frame("error") {
            $0.field("code", code)
            $0.field("reason", reason)
        }
    }

    package static func hello(producer: String, secret: String) -> [UInt8] {
        frame("hello") {
            $0.field("protocol", LinkFrame.version)
            $0.field("producer", producer)
            $0.field("secret", secret)
        }
    }

    package static func produce(producer: String, secret: String, first: UInt64) -> [UInt8] {
        frame("produce") {
            $0.field("producer", producer)
            $0.field("secret", secret)
            $0.field("first", first)
        }
    }

    /// - Parameter forgetsPauses: The next answer tells of pauses from then on.
    package static func health(forgetsPauses: Bool = false) -> [UInt8] {
        frame("health") { if forgetsPauses { $0.field("forget", "pauses") } }
    }

    package static func frame(_ type: StaticString, _ members: (inout ControlWriter) -> Void) -> [UInt8] {
        var writer = ControlWriter(type)
        members(&writer)
        return writer.finish()
    }
}

/// Writes one control frame.
package struct ControlWriter: ~Copyable {
    private var buffer = ByteBuffer(capacity: 160)

    init(_ type: StaticString) {
        buffer.append("{\"type\":\"")
        buffer.append(type)
        buffer.append("\"")
    }

    package mutating func field(_ key: StaticString, _ value: String) {
        name(key)
        buffer.appendJSON(value)
    }

    package mutating func field(_ key: StaticString, _ value: Int) {
        name(key)
        buffer.appendJSON(value)
    }

    package mutating func field(_ key: StaticString, _ value: Int64) {
        name(key)
        buffer.appendJSON(value)
    }

    package mutating func field(_ key: StaticString, _ value: UInt64) {
        name(key)
        buffer.appendJSON(value)
    }

    package mutating func field(_ key: StaticString, _ write: (inout ByteBuffer) -> Void) {
        name(key)
        write(&buffer)
    }

    private mutating func name(_ key: StaticString) {
        buffer.append(",\"")
        buffer.append(key)
        buffer.append("\":")
    }

    mutating func finish() -> [UInt8] {
        buffer.append("}")
        return Array(buffer.bytes)
    }
}

extension JSONValue {
    /// A member that must be a whole number from 0 on.
    package func natural(_ key: StaticString) -> UInt64? { self[key]?.int64.flatMap { UInt64(exactly: $0) } }

    package func text(_ key: StaticString) -> String? { self[key]?.string }
}
