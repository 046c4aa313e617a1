/// What a script does with a request, in addition to the answer by APNs' rules or instead of it.
package struct Conduct: Sendable, Equatable {
    /// The answer instead of 200.
    package var answer: ScriptedAnswer?
    package var ending: Ending?
    /// The wait before the answer.
    package var latencyMilliseconds: ClosedRange<Int64>?
    /// Whether to answer before the end of the body, and reset the stream with NO_ERROR.
    package var isEarly = false
    /// The value of `retry-after`, in seconds.
    package var retryAfter: Int?
    package var goAway: GoAway?
    /// The number of streams on this connection from now on.
    package var streams: Int?

    package enum Ending: Sendable, Equatable {
        case silence
        case reset(StreamError)
        /// The TCP connection is reset, without a close of TLS.
        case drop
    }

    /// Takes over the settings of the other one that this one does not have.
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

/// A GOAWAY frame, and whether the connection is closed after it.
package struct GoAway: Sendable, Equatable {
    package enum LastStream: Sendable, Equatable {
        /// The highest stream that was opened.
        case current
        /// The stream before the one that caused the GOAWAY.
        case before
        /// 2³¹−1, as in the first of two GOAWAY frames.
        case all
        case id(Int)
    }

    package var code = StreamError.noError
    /// The debug data: JSON with a reason, or any text, or nothing.
    package var reason: String?
    package var text: String?
    package var timestamp: Int64?
    package var lastStream = LastStream.current
    /// Whether another GOAWAY with the last stream 2³¹−1 comes first.
    package var isTwice = false
    /// Whether the connection is closed when its streams are done. Otherwise it stays open.
    package var closes = true
}
