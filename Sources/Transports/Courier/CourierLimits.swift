import NIOCore

/// What the courier takes at most, and what it does with one more.
enum CourierLimits {
    /// More are closed as they come.
    static let connectionsMax = 10_000
    /// Polls that wait at a time; one more is answered 503.
    static let pollsMax = 8_000
    /// Polls of one device; with one more the oldest ends, empty.
    static let pollsPerDeviceMax = 4
    /// Bytes of a request's path and query; a longer one is answered 414.
    static let targetBytesMax = 1024
    /// Bytes of a request's body; a longer one is answered 413.
    static let bodyBytesMax = 64 << 10
    /// Notifications in one answer; a request for more gets so many.
    static let pageEntriesMax = 400
    static let pageEntries = 100
    /// An answer of more bytes ends behind the notification that made it so.
    static let pageBytesMax = 1 << 20
    /// Pages that are read, or on their way to clients, at a time; one more is answered 503.
    static let pagesMax = 64
    /// IDs in one request to mark as read; more are answered 400.
    static let marksPerRequestMax = 400
    /// A connection that sends no whole request in this time is closed.
    static let requestWait = TimeAmount.seconds(75)
    /// A client that takes no answer in this time is cut off.
    static let responseWait = TimeAmount.seconds(30)
    /// A token may be asked for before its registration has come through the pipeline.
    static let registrationWait = TimeAmount.seconds(2)
    static let registrationPause = TimeAmount.milliseconds(100)
}
