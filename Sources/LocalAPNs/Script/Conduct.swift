/// What a script does with a request, in addition to the answer by APNs' rules or instead of it.
package struct Conduct: Sendable, Equatable {
    /// The answer instead of 200.
    package var answer: ScriptedAnswer?
    package var ending: Ending?
    /// The bounds of the wait before the answer. The wait is chosen at random.
    package var latencyMilliseconds: ClosedRange<Int64>?
    /// Whether to answer before the end of the body, and then reset the stream with NO_ERROR.
    package var isEarly: Bool?
    /// The value of `retry-after`, in seconds.
    package var retryAfter: Int?
    package var goAway: GoAway?
    /// How many streams the connection may have open from now on. A client without a certificate still gets one stream
    /// at most until it has sent a valid token.
    package var streams: Int?

    package enum Ending: Sendable, Equatable {
        case silence
        case reset(StreamError)
        /// The TCP connection is reset, without closing TLS first.
        case drop
    }

    /// Adds settings of the other conduct that this conduct lacks. The answer and the ending count as one setting: they
    /// are added only if this conduct has neither.
    mutating func fillMissing(from other: Conduct) {
        if answer == nil, ending == nil { (answer, ending) = (other.answer, other.ending) }
        latencyMilliseconds = latencyMilliseconds ?? other.latencyMilliseconds
        isEarly = isEarly ?? other.isEarly
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
        /// The stream before the stream that caused the GOAWAY.
        case before
        /// The highest possible number, 2³¹−1, which announces another GOAWAY frame.
        case all
        case id(Int)
    }

    package var code = StreamError.noError
    /// The reason in the debug data, unless ``text`` replaces the debug data.
    package var reason: String?
    /// The debug data, instead of JSON with ``reason`` and ``timestamp``.
    package var text: String?
    /// The time in the debug data, in milliseconds since 1970.
    package var timestamp: Int64?
    package var lastStream = LastStream.current
    /// Whether another GOAWAY with the last stream 2³¹−1 comes first.
    package var isSentTwice = false
    /// Whether the connection is closed when its streams are done. Otherwise it stays open.
    package var closes = true
}
