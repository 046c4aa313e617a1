import JSON
import PipelineRuntime
import Time

/// The first difference between a stage's replay and its log.
package struct ReplayDifference: Hashable, Sendable {
    /// What led to the event. If the stage's log has an event that the replay did not make: what led to the last event
    /// that the replay made for the same batch.
    package enum Cause: Hashable, Sendable {
        /// An event of the stage's input, or a deadline that was due just before this event.
        case event(log: String, sequence: UInt64, text: String?)
        /// Another deadline that was due, or a transport's answer at the end of a batch.
        case wake(Instant)
        /// The replay made no event for the batch, or the difference is not about an event.
        case unknown
    }

    package var stage: String
    package var log: String
    /// The event's sequence. After the end of the log: the sequence that the event would get. If the stage's state
    /// differs from a snapshot: the last event before the snapshot. 0 if the log was made from another upstream log.
    package var sequence: UInt64
    /// JSON pointer (RFC 6901) to the first member that differs; nil if only one side has the event.
    package var pointer: String?
    /// The text of the member, or of the whole event if ``pointer`` is nil. Nil when the log does not have the member
    /// or the event. If the stage's state differs from a snapshot: a JSON string that names the snapshot.
    package var recorded: String?
    /// The text from the replay; nil when the replay does not have the member or the event.
    package var replayed: String?
    package var cause: Cause

    init(stage: String, log: String, sequence: UInt64, recorded: String?, replayed: String?, cause: Cause) {
        (self.stage, self.log, self.sequence, self.cause) = (stage, log, sequence, cause)
        (self.recorded, self.replayed) = (recorded, replayed)
        guard let recorded, let replayed else { return }
        let member = JSONDifference(recorded, replayed)
        (pointer, self.recorded, self.replayed) = (member.pointer, member.left, member.right)
    }
}

/// The first member in which two JSON texts differ.
package struct JSONDifference: Hashable, Sendable {
    /// JSON pointer (RFC 6901); empty for the whole text.
    package var pointer = ""
    package var left: String?
    package var right: String?

    /// Objects whose members are equal but in another order differ as a whole, and so do texts that are not JSON.
    package init(_ left: String, _ right: String) {
        (self.left, self.right) = (left, right)
        var leftParser = JSONParser(limits: EventReader.linkLimits)
        var rightParser = JSONParser(limits: EventReader.linkLimits)
        let (leftBytes, rightBytes) = (Array(left.utf8), Array(right.utf8))
        leftBytes.withUnsafeBytes { leftBytes in
            rightBytes.withUnsafeBytes { rightBytes in
                do throws(JSONError) {
                    descend(try leftParser.parse(leftBytes), try rightParser.parse(rightBytes))
                } catch {}
            }
        }
    }

    private mutating func descend(_ left: JSONValue, _ right: JSONValue) {
        (self.left, self.right) = (JSONDifference.text(left), JSONDifference.text(right))
        if left.isObject, right.isObject { return descendMembers(left, right) }
        if left.isArray, right.isArray { descendElements(left, right) }
    }

    private mutating func descendMembers(_ left: JSONValue, _ right: JSONValue) {
        for (key, value) in left.members {
            let other = right.member(key.string ?? "")
            guard let other, other.raw.elementsEqual(value.raw) else { return enter(key.string ?? "", value, other) }
        }
        for (key, value) in right.members where left.member(key.string ?? "") == nil {
            return enter(key.string ?? "", nil, value)
        }
    }

    private mutating func descendElements(_ left: JSONValue, _ right: JSONValue) {
        let (lefts, rights) = (Array(left.elements), Array(right.elements))
        for index in 0..<max(lefts.count, rights.count) {
            let (value, other) = (lefts.dropFirst(index).first, rights.dropFirst(index).first)
            if let value, let other, value.raw.elementsEqual(other.raw) { continue }
            return enter("\(index)", value, other)
        }
    }

    private mutating func enter(_ name: String, _ left: JSONValue?, _ right: JSONValue?) {
        pointer += "/" + name.replacing("~", with: "~0").replacing("/", with: "~1")
        (self.left, self.right) = (left.map(JSONDifference.text), right.map(JSONDifference.text))
        if let left, let right { descend(left, right) }
    }

    private static func text(_ value: JSONValue) -> String { String(decoding: value.raw, as: UTF8.self) }
}
