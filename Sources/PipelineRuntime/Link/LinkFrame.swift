import Events
import JSON
import PipelineKit
import Time

/// The control frames of a link or a door: small JSON objects with a `type`.
///
/// A message begins with one control frame. After `batch`, `outputs` and `produce` comes a second frame, with events as
/// lines of a log; `outputs` without events may leave it out. Unknown members of a control frame are ignored, so that
/// later versions can add some.
package enum LinkFrame {
    /// The version in `open` and `hello`; any other version is refused with `link.version`.
    package static let version = 1

    /// - Parameters:
    ///   - keep: The first sequence that the consumer may ask for again; nil if it is unknown.
    ///   - lane: The lane whose lines the consumer wants. Lines of other lanes then come as empty lines. Nil for all
    ///     lines.
    package static func open(
        name: String, after: UInt64, credit: Int, keep: UInt64? = nil, lane: Lane? = nil
    ) -> [UInt8] {
        frame("open") {
            $0.append("protocol", LinkFrame.version)
            $0.append("name", name)
            $0.append("after", after)
            $0.append("credit", credit)
            $0.append("keep", keep)
            $0.append("lane", lane.map { UInt64($0.number) })
            $0.append("lanes", lane.map { UInt64($0.count) })
        }
    }

    package static func credit(_ bytes: Int, keep: UInt64? = nil) -> [UInt8] {
        frame("credit") {
            $0.append("bytes", bytes)
            $0.append("keep", keep)
        }
    }

    package static func close() -> [UInt8] { frame("close") }

    /// - Parameters:
    ///   - checksum: The checksum of a producer's lines up to `after`: see ``LineChecksum``.
    ///   - refused: How many of these lines were refused.
    package static func welcome(
        log: String, identity: LogIdentity, last: UInt64, after: UInt64?, first: UInt64 = 1, checksum: UInt32? = nil,
        refused: UInt64? = nil
    ) -> [UInt8] {
        frame("welcome") {
            $0.append("protocol", LinkFrame.version)
            $0.append("log", log)
            $0.append("identity", identity.description)
            $0.append("last", last)
            $0.append("after", after)
            if first > 1 { $0.append("first", first) }
            $0.append("checksum", checksum.map { UInt64($0) })
            $0.append("refused", refused)
        }
    }

    /// The mistake in a program's outputs; nil if there is no mistake. `lines` is empty if the message has no second
    /// frame.
    package static func fault(ofOutputs control: JSONValue, _ lines: UnsafeRawBufferPointer) -> String? {
        guard lines.isEmpty || Lines.areWhole(lines) else { return "the last output has no line feed" }
        guard let count = control[.count] else { return nil }
        let found = Lines.count(lines)
        return control.natural(.count) == found
            ? nil
            : "\"count\" is \(String(decoding: count.raw.prefix(20), as: UTF8.self)), but the message has \(found.of("line"))"
    }

    package static func batch(first: UInt64, count: Int, now: Instant) -> [UInt8] {
        frame("batch") {
            $0.append("first", first)
            $0.append("count", UInt64(count))
            $0.append("now", now.microseconds)
        }
    }

    package static func time(after: UInt64, now: Instant, mark: UInt64) -> [UInt8] {
        frame("time") {
            $0.append("after", after)
            $0.append("now", now.microseconds)
            $0.append("mark", mark)
        }
    }

    package static func error(_ code: String, _ reason: String) -> [UInt8] {
        frame("error") {
            $0.append("code", code)
            $0.append("reason", reason)
        }
    }

    package static func hello(producer: String, secret: String) -> [UInt8] {
        frame("hello") {
            $0.append("protocol", LinkFrame.version)
            $0.append("producer", producer)
            $0.append("secret", secret)
        }
    }

    package static func produce(producer: String, secret: String, first: UInt64) -> [UInt8] {
        frame("produce") {
            $0.append("producer", producer)
            $0.append("secret", secret)
            $0.append("first", first)
        }
    }

    /// - Parameter forgetsPauses: Whether the stage forgets the pauses of its host's loop after this answer, so that
    ///   the next answer has only later pauses.
    package static func health(forgetsPauses: Bool = false) -> [UInt8] {
        frame("health") { if forgetsPauses { $0.append("forget", "pauses") } }
    }

    /// The reason to refuse an `open` or `hello` that does not ask for ``version``.
    ///
    /// - Parameter end: The socket that refuses the frame: `link` or `door`.
    static func wrongVersion(_ control: JSONValue, at end: String) -> String {
        let asked = control.natural("protocol").map { "asks for protocol \($0)" } ?? "needs \"protocol\""
        return "\(control.text(.type) ?? "") \(asked); this \(end) speaks protocol \(version)"
    }

    package static func frame(_ type: StaticString, _ members: (inout ByteBuffer) -> Void = { _ in }) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 160)
        buffer.object {
            $0.append(.type, word: type)
            members(&$0)
        }
        return Array(buffer.bytes)
    }
}

extension JSONValue {
    /// The member's value, if it is a whole number that is not negative.
    package func natural(_ key: StaticString) -> UInt64? { self[key]?.int64.flatMap { UInt64(exactly: $0) } }

    package func text(_ key: StaticString) -> String? { self[key]?.string }
}
