import Events

/// The plugins of a program, by their names in pipeline files.
public struct Registry: Sendable {
    /// The log that a stage of each ``StageCore/kind`` reads.
    private var inputs: [String: LogKind] = [:]
    /// The log that a stage of each ``StageCore/kind`` writes.
    private var outputs: [String: LogKind] = [:]
    /// Stages by their ``Stage/kind``.
    package private(set) var stages: [String: any Stage.Type] = [:]
    /// Transports by their ``Transport/kind``.
    package private(set) var transports: [String: any Transport.Type] = [:]
    /// Coalescing policies by their ``CoalescingPolicy/kind``.
    package private(set) var policies: [String: any CoalescingPolicy.Type] = [:]

    /// A registry without plugins.
    public init() {}

    /// Adds a stage. No other stage in the registry may have its kind.
    public mutating func register<S: Stage>(_ stage: S.Type) {
        precondition(stages[S.kind] == nil, "two stages are called '\(S.kind)'")
        stages[S.kind] = stage
        (inputs[S.kind], outputs[S.kind]) = (S.reads, S.writes)
    }

    /// Adds a transport. No other transport in the registry may have its kind.
    public mutating func register<T: Transport>(_ transport: T.Type) {
        precondition(transports[T.kind] == nil, "two transports are called '\(T.kind)'")
        transports[T.kind] = transport
    }

    /// Adds a policy. No other policy in the registry may have its kind.
    public mutating func register<P: CoalescingPolicy>(_ policy: P.Type) {
        precondition(policies[P.kind] == nil, "two policies are called '\(P.kind)'")
        policies[P.kind] = policy
    }
}

extension Registry {
    /// A copy that can run stages of one kind only. The copy still says which logs the other kinds read and
    /// write.
    package func running(_ kind: String) -> Registry {
        var registry = self
        registry.stages = stages.filter { $0.key == kind }
        return registry
    }

    /// Which of Belfry's logs a kind of stage reads; nil if the kind can read any log, or is unknown.
    package func log(readBy kind: String) -> LogKind? { inputs[kind] }

    /// Which of Belfry's logs a kind of stage writes; nil if the kind writes another log, or is unknown.
    package func log(writtenBy kind: String) -> LogKind? { outputs[kind] }

    /// The kind of stage that writes a log. If several kinds write the log, the first by name; nil if no kind writes it.
    package func kind(writing log: LogKind) -> String? { outputs.filter { $0.value == log }.keys.min() }
}
