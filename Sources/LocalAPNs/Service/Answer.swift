import JSON

/// How the server responds to a request: with an answer, or with an ``Ending`` instead.
package struct Answer: Sendable {
    package enum Ending: Sendable, Equatable {
        case silence
        case drop
        case reset(StreamError)
        case goAway(reason: String)

        var text: String {
            switch self {
            case .silence: "silence"
            case .drop: "drop"
            case .reset(let code): "reset \(code.rawValue)"
            case .goAway: "goaway"
            }
        }
    }

    /// Nil if there is no answer; ``ending`` then says what happens instead.
    package var status: Int?
    package var reason: String?
    /// Milliseconds since 1970.
    package var timestamp: Int64?
    package var ending: Ending?
    /// The `apns-id` of the answer.
    package var id: String
    package var uniqueID: String?
    package var isAuthenticated: Bool
    /// The value of `retry-after`, in seconds.
    package var retryAfter: Int?
    package var record: RecordedRequest?

    init(id: String, isAuthenticated: Bool, retryAfter: Int?) {
        self.id = id
        self.isAuthenticated = isAuthenticated
        self.retryAfter = retryAfter
    }

    /// Applies the result of the rules, and the script. A script may leave any request without an answer. It
    /// changes the status and the reason only of requests that the rules accept.
    mutating func apply(_ refusal: Refusal?, _ conduct: Conduct) {
        if let ending = conduct.ending {
            self.ending = Ending(ending)
            return
        }
        switch refusal {
        case .answer(let status, let reason, let timestamp):
            (self.status, self.reason, self.timestamp) = (status, reason, timestamp)
        case .reset(let code): ending = .reset(code)
        case .goAway(let reason):
            ending = .goAway(reason: reason)
            self.reason = reason
        case nil:
            (status, reason) = (conduct.answer?.status ?? 200, conduct.answer?.reason)
            timestamp = conduct.answer?.timestamp
        }
    }

    /// JSON with the reason and the timestamp; empty for status 200.
    package var body: String {
        status == 200 ? "" : Answer.json(reason, timestamp)
    }

    static func json(_ reason: String?, _ timestamp: Int64?) -> String {
        ByteBuffer.object {
            $0.append("reason", reason)
            $0.append("timestamp", timestamp)
        }.text
    }
}

extension Answer.Ending {
    init(_ ending: Conduct.Ending) {
        switch ending {
        case .silence: self = .silence
        case .drop: self = .drop
        case .reset(let code): self = .reset(code)
        }
    }
}
