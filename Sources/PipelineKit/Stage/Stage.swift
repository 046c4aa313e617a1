import Events
import JSON
import Time

/// One step of a pipeline: a deterministic state machine.
///
/// A stage is a value that folds events. It reads no clock and no random source and does no I/O: its host does that.
/// Its output never depends on the order of a hash table or on how its input was cut into batches. So the same inputs
/// at the same times give the same bytes on any machine, which makes replay exact.
///
/// A new stage conforms to this protocol and is registered under ``StageCore/kind`` in a ``Registry``. ``StageCore``
/// has the required members; the other protocols are optional abilities, whose members all have defaults.
public protocol Stage: PartwiseStage, RecallingStage, TransportingStage, SnapshottingStage, InspectableStage {}

/// The required members of a stage: a name, settings, and its reaction to events and to time.
public protocol StageCore: SendableMetatype {
    associatedtype Settings: PluginSettings

    /// The name of this kind of stage in pipeline files.
    static var kind: String { get }

    /// Which of Belfry's logs has the events that the stage handles. A pipeline file in which the stage reads another
    /// of these logs is refused. If nil, the stage can read any log.
    static var reads: LogKind? { get }

    /// Which of Belfry's logs the stage writes. Tools find the stage by this property. If nil, the stage writes another
    /// log.
    ///
    /// The log has the name of this value or, if nil, the stage's name in the pipeline file, unless the pipeline file
    /// gives the log another name.
    static var writes: LogKind? { get }

    /// Whether the stage gets its events from producers, through its door, and not from the log of another stage.
    static var isSource: Bool { get }

    /// Checks the settings. Does no I/O.
    init(_ settings: Settings, context: StageContext) throws(SettingsError)

    /// When the stage wants to be woken; nil to wait for input only. At the deadline the stage must have something to
    /// do.
    var deadline: Instant? { get }

    /// Handles one event. If the stage cannot use the event, it calls ``Outbox/reject(_:_:)``. Bad input never stops a
    /// stage.
    ///
    /// A stage that traps ends its process. After three such crashes in a row on one event, the host sets the event
    /// aside as a dead letter. The stage never gets the event again, not even in a replay. No event is set aside for a
    /// source, in virtual time, or in a process that runs several stages.
    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox)

    /// Called when `now` has reached ``deadline``. The stage must do everything that is due; afterwards the deadline
    /// must be later than `now`, or nil.
    ///
    /// A stage that asks for wakes without end is stopped with a ``StageFault`` (exit status 70), by its host and by a
    /// replay alike:
    ///
    /// - after ``StageFault/wakesUntilFault`` wakes in a row, within a second of the stage's time, each without an
    ///   output or with a next deadline that is not later than `now`;
    /// - after one wake in several parts (``PartwiseStage/isUnfinished``) with a next deadline that is not later than
    ///   `now`;
    /// - in `belfry run`, at the end of all input: after ``StageFault/wakesUntilFault`` wakes in a row, within any span
    ///   of the stage's time, each without an output or with a next deadline that is not later than `now`.
    mutating func wake(at now: Instant, into out: inout Outbox)
}

extension StageCore {
    public static var reads: LogKind? { nil }
    public static var writes: LogKind? { nil }
    public static var isSource: Bool { false }
    public var deadline: Instant? { nil }
    public mutating func wake(at now: Instant, into out: inout Outbox) {}
}

/// The identities of the logs that a stage reads and writes, and the plugins that it may use. The stage derives
/// identifiers from the identities.
public struct StageContext: Sendable {
    /// The identity of the stage's own log.
    public var log: LogIdentity
    /// The identity of the log that the stage reads; for a source, of its own log.
    public var upstream: LogIdentity
    /// The name of the log that the stage reads; for a source, of its own log.
    public var upstreamName: String
    /// The plugins that the stage's settings may choose from.
    public var registry: Registry
    /// The earlier events of the stage's own log; nil if its host does not read them.
    package var past: (any PastEvents)?

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

/// One event as a stage receives it. The compiler refuses to keep the event, or a view of it, beyond the call.
public struct InputEvent: ~Copyable, ~Escapable {
    /// For a line from a producer, the producer's line number. For any other event, the position in its log: the log of
    /// the upstream or, in ``RecallingStage/recall(_:at:)``, the stage's own log.
    public let sequence: UInt64
    /// The event, which is a JSON object.
    public let json: JSONView
    /// The event's text as the stage gets it, without its line feed: the producer's line, or the event's line in its
    /// log.
    public let line: RawSpan

    /// ``json`` without the compiler's lifetime check.
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
    /// - Throws: ``JSON/JSONError`` if the text is not JSON, or the error that `body` throws.
    public static func read<Result>(
        _ line: String, sequence: UInt64, _ body: (borrowing InputEvent) throws -> Result
    ) throws -> Result {
        var parser = JSONParser()
        return try Array(line.utf8).withUnsafeBytes { line in
            try body(InputEvent(sequence: sequence, json: try parser.parse(line), line: line))
        }
    }

    /// Whether the event has that `type`.
    @inlinable
    @inline(__always)
    public func isOfType(_ type: StaticString) -> Bool { value[.type]?.equals(type) ?? false }
}

/// Why an event could not be used. A source's producer gets the reason in its answer. In any other stage the event
/// becomes a dead letter with the reason.
public struct Rejection: Error, Hashable, Sendable {
    /// A stable word for programs, such as `field.missing`.
    public var code: String
    /// A sentence that says what was found and what to do.
    public var reason: String
    /// The place in the event, as a dotted path: `subscription.query.filterBy[0].comparator`; empty for the whole
    /// event.
    public var path: String

    /// Without a path, the rejection is about the whole event.
    public init(code: String, reason: String, path: String = "") {
        self.code = code
        self.reason = reason
        self.path = path
    }
}
