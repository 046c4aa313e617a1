import HTTPServer

/// The courier's limits, and what it does beyond them.
enum CourierLimits {
    /// Further connections are closed at once.
    static let connectionsMax = 10_000
    /// Polls that wait at a time; one more is answered 503.
    static let pollsMax = 8_000
    /// Polls of one device that wait at a time; one more ends the oldest without a notification.
    static let pollsPerDeviceMax = 4
    /// Bytes of a request's path and query; a longer one is answered 414.
    static let targetBytesMax = 1024
    /// Bytes of a request's line and headers; a longer head is answered 431.
    static let headBytesMax = 80 << 10
    /// Bytes of a request's body; a longer one is answered 413.
    static let bodyBytesMax = 64 << 10
    /// Notifications in one answer, even if a request asks for more.
    static let pageEntriesMax = 400
    static let pageEntries = 100
    /// An answer ends with the notification that makes it longer than this.
    static let pageBytesMax = 1 << 20
    /// Pages that are read, or on their way to clients, at a time; one more is answered 503.
    static let pagesMax = 64
    /// IDs in one request to mark as read; more are answered 400.
    static let marksPerRequestMax = 400
    /// A connection that sends no whole request in this time is closed.
    static let requestWait = Duration.seconds(75)
    /// A client that takes no answer in this time is cut off.
    static let responseWait = Duration.seconds(30)
    /// A token may be asked for before its registration has come through the pipeline.
    static let registrationWait = Duration.seconds(2)
    static let registrationPause = Duration.milliseconds(100)
    /// Connections whose answers are not taken in this time are cut off when the courier closes.
    static let closeWait = Duration.seconds(5)

    static var server: WebServerLimits {
        var limits = WebServerLimits()
        (limits.connectionsMax, limits.bodyBytesMax) = (connectionsMax, bodyBytesMax)
        (limits.targetBytesMax, limits.headBytesMax) = (targetBytesMax, headBytesMax)
        (limits.requestWait, limits.responseWait) = (requestWait, responseWait)
        return limits
    }
}
