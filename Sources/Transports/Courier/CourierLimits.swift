import HTTPServer

/// The courier's limits, and what happens to a client that exceeds a limit.
enum CourierLimits {
    /// How many connections may be open. Further connections are closed at once.
    static let connectionsMax = 10_000
    /// How many polls may wait at the same time. A further poll is answered 503.
    static let pollsMax = 8_000
    /// How many polls of one device may wait at the same time. A further poll ends the device's oldest poll
    /// without a notification.
    static let pollsPerDeviceMax = 4
    /// How many bytes a request's path and query may have together. A request with more bytes is answered 414.
    static let targetBytesMax = 1024
    /// How many bytes a request's line and headers may have together. A request with more bytes is answered 431.
    static let headBytesMax = 80 << 10
    /// How many bytes a request's body may have. A request with a longer body is answered 413.
    static let bodyBytesMax = 64 << 10
    /// How many bytes of bodies the courier holds at once. A request whose body does not fit is answered 503.
    static let heldBodyBytesMax = 16 << 20
    /// The most notifications in one answer, even if a request asks for more.
    static let pageEntriesMax = 400
    /// The most notifications in one answer if a request asks for no number.
    static let pageEntries = 100
    /// An answer ends with the notification that brings the answer to this size, so the answer may be larger.
    static let fullPageBytes = 1 << 20
    /// How many pages may be read or sent to clients at the same time. A request for a further page is answered 503.
    static let pagesMax = 64
    /// How many IDs one request may mark as read. A request with more IDs is answered 400.
    static let marksPerRequestMax = 400
    /// How long a request may take to arrive: see ``WebServerLimits/requestWait``.
    static let requestWait = Duration.seconds(75)
    /// How long a client may take to receive an answer: see ``WebServerLimits/responseWait``.
    static let responseWait = Duration.seconds(30)
    /// How long a poll with an unknown token is retried, because a poll may arrive before the registration of its token
    /// has passed through the pipeline.
    static let registrationWait = Duration.seconds(2)
    /// The time between two tries of such a poll.
    static let registrationPause = Duration.milliseconds(100)
    /// When the courier closes, clients that have not received their answers in this time are disconnected.
    static let closeWait = Duration.seconds(5)

    static var server: WebServerLimits {
        var limits = WebServerLimits()
        limits.connectionsMax = connectionsMax
        (limits.bodyBytesMax, limits.heldBodyBytesMax) = (bodyBytesMax, heldBodyBytesMax)
        // `pagesMax` already limits the answers.
        limits.heldAnswerBytesMax = .max
        (limits.targetBytesMax, limits.headBytesMax) = (targetBytesMax, headBytesMax)
        (limits.requestWait, limits.responseWait) = (requestWait, responseWait)
        return limits
    }
}
