import JSON

/// What a server knows about a stream.
package struct StreamInfo: Hashable, Sendable {
    package struct Replica: Hashable, Sendable {
        /// The server's name.
        package let server: String
        /// Whether the replica has all that the leader has.
        package let isCurrent: Bool
        /// By how many operations the replica is behind.
        package let lag: UInt64
    }

    package let settings: StreamSettings
    /// The sequence of the oldest message. In a stream without messages, the sequence that the next message gets.
    package let first: UInt64
    /// The sequence of the newest message that the stream ever had; 0 if it had none.
    package let last: UInt64
    package let messages: UInt64
    /// The size of all messages, in bytes.
    package let bytes: UInt64
    /// The name of the leader's server; nil if there is no leader, or no cluster.
    package let leader: String?
    /// The other servers that store the stream.
    package let others: [Replica]
    private let isInCluster: Bool

    /// Nil if the answer has no configuration or no state.
    init?(_ answer: JSONValue) {
        guard let settings = answer["config"].flatMap({ StreamSettings($0) }), let state = answer["state"],
            let last = state["last_seq"]?.uint64
        else { return nil }
        (self.settings, self.last) = (settings, last)
        messages = state["messages"]?.uint64 ?? 0
        bytes = state["bytes"]?.uint64 ?? 0
        first = messages == 0 ? last + 1 : state["first_seq"]?.uint64 ?? 1
        let cluster = answer["cluster"]
        isInCluster = cluster != nil
        leader = cluster?["leader"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        others = cluster?["replicas"]?.elements.map { Replica($0) } ?? []
    }

    /// Whether the answer has all that the stream's leader knows. A server that knows no leader answers with what it
    /// has itself, which may be less than what was acknowledged. A server outside a cluster is the leader of all its
    /// streams.
    package var isFromLeader: Bool { leader != nil || !isInCluster && settings.replicas == 1 }
}

extension StreamInfo.Replica {
    fileprivate init(_ replica: JSONValue) {
        server = replica["name"]?.string ?? ""
        isCurrent = replica["current"]?.bool ?? false
        lag = replica["lag"]?.uint64 ?? 0
    }
}

extension JSONValue {
    /// Nil for a negative number.
    var uint64: UInt64? { int64.flatMap { UInt64(exactly: $0) } }
}
