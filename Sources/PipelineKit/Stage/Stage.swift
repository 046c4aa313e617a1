import Events
import JSON
import Time

/// One step of a pipeline: a deterministic state machine.
///
/// A stage is a value that folds events. It reads no clock and no random source, does no I/O, and its output never
/// depends on the order of a hash table or on how its input was cut into batches. Its host does the rest, so the same
/// inputs at the same times give the same bytes on any machine: that is what makes replay exact.
///
/// A new stage conforms to this and is registered under ``StageCore/kind`` in a ``Registry``. What it must have is in
/// ``StageCore``; the other protocols are what it may be able to do besides, and all of theirs has a default.
public protocol Stage: PartwiseStage, RecallingStage, TransportingStage, SnapshottingStage, InspectableStage {}

/// What every stage has: a name, settings, and what it makes of events and of time.
public protocol StageCore: SendableMetatype {
    associatedtype Settings: PluginSettings

    /// The word a pipeline file names the stage by.
    static var kind: String { get }

    /// Which of Belfry's logs the stage writes. Tools find the stage by it, and it names the stage's log unless the pipeline
    /// file gives another name. Nil: none of them; the log then has the name that the stage has in the pipeline file.
    static var writes: LogKind? { get }

    /// Whether the stage is fed by producers at its door instead of by another stage's log.
    static var isSource: Bool { get }

    /// Checks only; touches nothing outside.
    init(_ settings: Settings, context: StageContext) throws(SettingsError)

    /// When the stage wants to be woken; nil when it only waits for input. Ask for a time only if there will be something
    /// to do then.
    var deadline: Instant? { get }

    /// Takes one event. What the stage cannot use it rejects with ``Outbox/reject(_:)``; it never stops for bad input.
    ///
    /// A stage that traps ends its process. Where that happens three times in a row at one event, the host sets the event
    /// aside as a dead letter, and the stage never gets it again, nor in a replay.
    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox)

    /// Called when `now` has reached ``deadline``. Deals with all that is due: afterwards the deadline is later than `now`,
    /// or nil.
    ///
    /// A stage that keeps asking is ended with a ``StageFault`` (exit status 70), by its host and by a replay alike: after
    /// ``StageFault/wakesMax`` wakes in a row, within a second of its time, that say nothing or leave the deadline where it
    /// was; at once where such a wake was ``PartwiseStage/isUnfinished``; and by `belfry run` where a stage still asks after so many
    /// wakes without a word at the end of all input.
    mutating func wake(at now: Instant, into out: inout Outbox)
}

extension StageCore {
    public static var writes: LogKind? { nil }
    public static var isSource: Bool { false }
    public var deadline: Instant? { nil }
    public mutating func wake(at now: Instant, into out: inout Outbox) {}
}

/// What a stage knows of where it stands. Identifiers are derived from a log's identity and a position in it.
public struct StageContext: Sendable {
    /// The identity of the stage's own log.
    public var log: LogIdentity
    /// The identity of the log it reads; its own for a source.
    public var upstream: LogIdentity
    /// The name of the log it reads.
    public var upstreamName: String
    /// The plugins that the stage's settings may choose from.
    public var registry: Registry

    /// For tests of a stage; a host makes its own.
    public init(
        log: LogIdentity, upstream: LogIdentity, upstreamName: String, registry: Registry = Registry()
    ) {
        self.log = log
        self.upstream = upstream
        self.upstreamName = upstreamName
        self.registry = registry
    }
}

/// One event as a stage receives it. Neither the event nor a view of it can be kept beyond the call: the compiler refuses.
public struct InputEvent: ~Copyable, ~Escapable {
    /// Position in the log it comes from; for a source, the producer's line number.
    public let sequence: UInt64
    /// The event, already checked: a JSON object.
    public let json: JSONView
    /// The event's text as it stands in the log, without its line feed.
    public let line: RawSpan

    /// ``json`` without the compiler's promise.
    @inlinable
    @inline(__always)
    package var value: JSONValue { json.value }

    /// `json` must be the object that `line` holds.
    @_lifetime(borrow line)
    @inlinable
    @inline(__always)
    package init(sequence: UInt64, json: JSONValue, line: UnsafeRawBufferPointer) {
        self.sequence = sequence
        self.json = _overrideLifetime(JSONView(json), borrowing: line)
        self.line = line.bytes
    }

    /// Reads one event from its text, for tests of a stage.
    ///
    /// - Throws: ``JSON/JSONError`` where the text is not JSON; what `body` throws.
    public static func read<Result>(
        _ line: String, sequence: UInt64, _ body: (borrowing InputEvent) throws -> Result
    ) throws -> Result {
        var parser = JSONParser()
        return try Array(line.utf8).withUnsafeBytes { line in
            try body(InputEvent(sequence: sequence, json: try parser.parse(line), line: line))
        }
    }

    /// Whether the event's `type` is that word.
    @inlinable
    @inline(__always)
    public func isOfType(_ type: StaticString) -> Bool { value[.type]?.equals(type) ?? false }
}

/// Why one event could not be used: an answer to its producer at the door, a dead letter anywhere else.
public struct Rejection: Error, Hashable, Sendable {
    /// A stable word for programs, such as `field.missing`.
    public var code: String
    /// A sentence with the rule and what to do.
    public var reason: String
    /// Where in the event, as a dotted path: `subscription.query.filterBy[0].comparator`; empty for the whole.
    public var path: String

    /// Without a path, the whole event is meant.
    public init(code: String, reason: String, path: String = "") {
        self.code = code
        self.reason = reason
        self.path = path
    }
}
