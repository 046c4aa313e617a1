/// What is done with a request beside, or instead of, the answer that the rules of APNs give.
package struct Conduct: Sendable, Equatable {
    /// Instead of 200.
    package var answer: ScriptedAnswer?
    package var ending: Ending?
    /// Before the answer.
    package var latencyMilliseconds: ClosedRange<Int64>?
    /// Answers before the body's end, and resets the stream with NO_ERROR.
    package var isEarly = false
    /// Seconds, in the answer's header.
    package var retryAfter: Int?
    package var goAway: GoAway?
    /// From now on so many streams on this connection.
    package var streams: Int?

    package enum Ending: Sendable, Equatable {
        case silence
        case reset(StreamError)
        /// The TCP connection goes, without a word of TLS.
        case drop
    }

    /// What the other says where this says nothing.
    mutating func complete(by other: Conduct) {
        if answer == nil, ending == nil { (answer, ending) = (other.answer, other.ending) }
        latencyMilliseconds = latencyMilliseconds ?? other.latencyMilliseconds
        isEarly = isEarly || other.isEarly
        retryAfter = retryAfter ?? other.retryAfter
        goAway = goAway ?? other.goAway
        streams = streams ?? other.streams
    }
}

package struct ScriptedAnswer: Sendable, Equatable {
    package var status: Int
    package var reason: String?
    /// Milliseconds since 1970.
    package var timestamp: Int64?
}

/// The end of a connection, announced.
package struct GoAway: Sendable, Equatable {
    package enum LastStream: Sendable, Equatable {
        /// The highest that was opened.
        case current
        /// The highest below the one that caused it.
        case before
        /// 2³¹−1, as in the first of two.
        case all
        case id(Int)
    }

    package var code = StreamError.noError
    /// The debug data: JSON with a reason, or any text, or nothing.
    package var reason: String?
    package var text: String?
    package var timestamp: Int64?
    package var lastStream = LastStream.current
    /// First one with the last stream 2³¹−1, then the one that is described.
    package var isTwice = false
    /// Whether the connection is closed when its streams are done; else it stays open and looks alive.
    package var closes = true
}
