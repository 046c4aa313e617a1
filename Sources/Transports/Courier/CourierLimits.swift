import NIOCore

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
    static let requestWait = TimeAmount.seconds(75)
    /// A client that does not read its answer in this time is disconnected.
    static let responseWait = TimeAmount.seconds(30)
    /// How long a request waits for an unknown token: its registration may still be on the way through the pipeline.
    static let registrationWait = TimeAmount.seconds(2)
    static let registrationPause = TimeAmount.milliseconds(100)
}
