/// The plugins that a program carries, by the words pipeline files use.
public struct Registry: Sendable {
    public private(set) var stages: [String: any Stage.Type] = [:]
    public private(set) var transports: [String: any Transport.Type] = [:]
    public private(set) var policies: [String: any CoalescingPolicy.Type] = [:]

    public init() {}

    public mutating func register<S: Stage>(_ stage: S.Type) {
        precondition(stages[S.kind] == nil, "two stages are called '\(S.kind)'")
        stages[S.kind] = stage
    }

    public mutating func register<T: Transport>(_ transport: T.Type) {
        precondition(transports[T.kind] == nil, "two transports are called '\(T.kind)'")
        transports[T.kind] = transport
    }

    public mutating func register<P: CoalescingPolicy>(_ policy: P.Type) {
        precondition(policies[P.kind] == nil, "two policies are called '\(P.kind)'")
        policies[P.kind] = policy
    }
}
