/// The plugins that a program carries, by the words pipeline files use.
public struct Registry: Sendable {
    /// Stages by their ``Stage/kind``.
    public private(set) var stages: [String: any Stage.Type] = [:]
    /// Transports by their ``Transport/kind``.
    public private(set) var transports: [String: any Transport.Type] = [:]
    /// Coalescing policies by their ``CoalescingPolicy/kind``.
    public private(set) var policies: [String: any CoalescingPolicy.Type] = [:]

    /// A registry without any plugin.
    public init() {}

    /// Adds a stage, whose kind no other stage here may have.
    public mutating func register<S: Stage>(_ stage: S.Type) {
        precondition(stages[S.kind] == nil, "two stages are called '\(S.kind)'")
        stages[S.kind] = stage
    }

    /// Adds a transport, whose kind no other transport here may have.
    public mutating func register<T: Transport>(_ transport: T.Type) {
        precondition(transports[T.kind] == nil, "two transports are called '\(T.kind)'")
        transports[T.kind] = transport
    }

    /// Adds a policy, whose kind no other policy here may have.
    public mutating func register<P: CoalescingPolicy>(_ policy: P.Type) {
        precondition(policies[P.kind] == nil, "two policies are called '\(P.kind)'")
        policies[P.kind] = policy
    }
}
