import Events
import JSON
import Time

/// One step of a pipeline: a deterministic state machine.
///
/// A stage is a value that folds events. It reads no clock and no random source, does no I/O, and its output never
/// depends on the order of a hash table or on how its input was cut into batches. Its host does the rest, so the same
/// inputs at the same times give the same bytes on any machine: that is what makes replay exact.
///
/// A new stage conforms to this and is registered under ``kind`` in a ``Registry``.
public protocol Stage: SendableMetatype {
    associatedtype Settings: PluginSettings

    /// The word a pipeline file names the stage by.
    static var kind: String { get }

    /// The name of the log that the stage's output goes to, unless the pipeline file gives another.
    static var logName: String { get }

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
    /// was; at once where such a wake was ``isUnfinished``; and by `belfry run` where a stage still asks after so many
    /// wakes without a word at the end of all input.
    mutating func wake(at now: Instant, into out: inout Outbox)

    /// Whether there is more to be said of the event, or of the wake, that the stage was given last.
    ///
    /// A stage that may have very much to say of one stops where ``Outbox/isFull`` is true, and is asked to go on. So the
    /// outputs of one event need no more memory than one part of them, and the first are on their way before the last
    /// are written.
    var isUnfinished: Bool { get }

    /// Says more of what the stage was given last, and something each time. Called until ``isUnfinished`` is false;
    /// nothing else is asked of the stage before. Where one part ends and the next begins must not show in what is said.
    ///
    /// - Parameter now: The same as when the event or the wake came.
    mutating func proceed(at now: Instant, into out: inout Outbox)

    /// Takes back one event of the stage's own log when it starts again. Only sources are called: every other stage is
    /// rebuilt by feeding it its input again.
    mutating func recall(_ event: borrowing InputEvent, at now: Instant)

    /// Takes a transport's answer to a push handed out with ``Outbox/deliver(_:)``.
    ///
    /// An answer is an input: events and wakes may come between a push and its answer, and answers come in any order. The
    /// stage's log is the record of the answers. What the stage says of an answer must therefore show the answer to
    /// ``answer(recordedIn:)``, in the order in which the answers came.
    mutating func receive(_ answer: TransportAnswer, at now: Instant, into out: inout Outbox)

    /// The first event whose pushes were handed out and have not all been answered once; nil where there is none.
    var firstOut: UInt64? { get }

    /// Hands out again, in their order, the pushes that were handed out and are not answered. Called when the stage goes
    /// on after a restart.
    func handOutAgain(at now: Instant, into out: inout Outbox)

    /// The transports that the stage's deliveries name; the host opens them.
    static func transports(of settings: Settings) -> [TransportBinding]

    /// The transport's answer that one of the stage's own events records; nil where the event records none.
    ///
    /// A host that feeds the stage its past gives it the answers that it had then.
    static func answer(recordedIn event: borrowing InputEvent) -> TransportAnswer?

    // MARK: State

    /// Which form the stage's snapshots have: raise it with every change, so that older ones are left aside. Nil: the
    /// stage takes none, and is rebuilt from all of its input.
    static var snapshotVersion: Int? { get }

    /// Writes all that the stage's future depends on, beside its settings and context. The same state gives the same
    /// bytes. Never asked for while a push that the stage handed out is unanswered.
    func snapshot(into snapshot: inout SnapshotWriter)

    /// Takes over the state of another of its kind. Called once, before anything else.
    mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError)

    /// What `belfry state` calls the stage's state, such as `subscriptions`; nil where there is nothing to show.
    static var stateName: String? { get }

    /// Writes the state for people and programs: one JSON object a line, in an order that depends on nothing else.
    func writeState(into lines: inout ByteBuffer)

    /// The names of what else of the state can be shown on its own.
    static var otherStateNames: [String] { get }

    /// Writes what ``otherStateNames`` names, in the same form.
    func writeState(_ name: String, into lines: inout ByteBuffer)

    /// Says what the stage, as it stands, would make of an event for a subject, and why. Changes nothing.
    ///
    /// - Parameter now: The event's recorded time.
    func explain(_ event: borrowing InputEvent, at now: Instant, for subject: ExplainedSubject) -> [Explanation]
}

extension Stage {
    public static var isSource: Bool { false }
    public var deadline: Instant? { nil }
    public mutating func wake(at now: Instant, into out: inout Outbox) {}
    public var isUnfinished: Bool { false }
    public mutating func proceed(at now: Instant, into out: inout Outbox) {}
    public mutating func recall(_ event: borrowing InputEvent, at now: Instant) {}
    public mutating func receive(_ answer: TransportAnswer, at now: Instant, into out: inout Outbox) {}
    public var firstOut: UInt64? { nil }
    public func handOutAgain(at now: Instant, into out: inout Outbox) {}
    public static func transports(of settings: Settings) -> [TransportBinding] { [] }
    public static func answer(recordedIn event: borrowing InputEvent) -> TransportAnswer? { nil }
    public static var snapshotVersion: Int? { nil }
    public func snapshot(into snapshot: inout SnapshotWriter) {}
    public mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {}
    public static var stateName: String? { nil }
    public func writeState(into lines: inout ByteBuffer) {}
    public static var otherStateNames: [String] { [] }
    public func writeState(_ name: String, into lines: inout ByteBuffer) {}
    public func explain(
        _ event: borrowing InputEvent, at now: Instant, for subject: ExplainedSubject
    ) -> [Explanation] { [] }
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

    public init(
        log: LogIdentity, upstream: LogIdentity, upstreamName: String, registry: Registry = Registry()
    ) {
        self.log = log
        self.upstream = upstream
        self.upstreamName = upstreamName
        self.registry = registry
    }
}

/// One event as a stage receives it. Views are valid during the call only.
public struct InputEvent: ~Copyable {
    /// Position in the log it comes from; for a source, the producer's line number.
    public let sequence: UInt64
    /// The event, already checked: a JSON object.
    public let json: JSONValue
    /// The event's text as it stands in the log, without its line feed.
    public let line: UnsafeRawBufferPointer

    public init(sequence: UInt64, json: JSONValue, line: UnsafeRawBufferPointer) {
        self.sequence = sequence
        self.json = json
        self.line = line
    }

    /// Whether the event's `type` is that word.
    @inline(__always)
    public func isOfType(_ type: StaticString) -> Bool { json[.type]?.equals(type) ?? false }
}

/// Why one event could not be used: an answer to its producer at the door, a dead letter anywhere else.
public struct Rejection: Error, Hashable, Sendable {
    /// A stable word for programs, such as `field.missing`.
    public var code: String
    /// A sentence with the rule and what to do.
    public var reason: String
    /// Where in the event, as a dotted path: `subscription.query.filterBy[0].comparator`; empty for the whole.
    public var path: String

    public init(code: String, reason: String, path: String = "") {
        self.code = code
        self.reason = reason
        self.path = path
    }
}
