import JSON

/// The error with which JetStream answers a request or a publish.
package struct JetStreamRefusal: Error, Hashable, Sendable {
    /// JetStream's own number, such as 10059 for a stream that does not exist (nats-server, errors.json).
    package let code: Int
    /// What the server says about the cause. It is for people.
    package let text: String

    package init(code: Int, text: String) { (self.code, self.text) = (code, text) }

    /// - Parameter answer: The answer to a request, or to a publish.
    /// - Returns: Nil if the answer contains no error.
    init?(in answer: JSONValue) {
        guard let error = answer["error"], error.isObject else { return nil }
        code = Int(error["err_code"]?.int64 ?? error["code"]?.int64 ?? 0)
        text = error["description"]?.string.map { String($0.prefix(300)) } ?? "no reason given"
    }
}

extension JetStreamRefusal {
    package enum Code {
        package static let noPeers = 10005
        package static let noMessage = 10037
        package static let notEnabled = 10076
        package static let notEnabledForAccount = 10039
        package static let nameInUse = 10058
        package static let streamNotFound = 10059
        package static let replicasNotSupported = 10074
        package static let wrongLastSequence = 10071
        static let storeFailed = 10077
        static let accountResourcesExceeded = 10002
        static let insufficientResources = 10023
        static let memoryExceeded = 10028
        static let storageExceeded = 10047
        static let incomplete = 10004
        static let temporarilyUnavailable = 10008
        static let notLeader = 10009
        static let streamOffline = 10118
    }

    /// Whether there is no room for a message: the stream, the account or a disk is full. Nothing else is wrong, so the
    /// same message can be stored later.
    package var isDiskFull: Bool {
        switch code {
        case Code.accountResourcesExceeded, Code.insufficientResources, Code.memoryExceeded, Code.storageExceeded: true
        // The server passes on the error of its store as text.
        case Code.storeFailed: ["maximum bytes", "maximum messages", "no space"].contains { text.contains($0) }
        default: false
        }
    }

    /// Whether no majority of the stream's servers is there at the moment.
    package var isNoQuorum: Bool {
        [Code.incomplete, Code.temporarilyUnavailable, Code.notLeader, Code.streamOffline].contains(code)
    }
}

extension JetStreamRefusal: CustomStringConvertible {
    package var description: String { String(text.map { JetStreamRefusal.isPrintable($0) ? $0 : "?" }) + " (\(code))" }

    static func isPrintable(_ character: Character) -> Bool {
        character.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
    }
}
