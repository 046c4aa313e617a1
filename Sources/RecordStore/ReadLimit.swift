/// Decides whether a read in progress may go on. The store asks when the read begins, and then at least once in every
/// few milliseconds of work.
package struct ReadLimit: Sendable {
    /// Returns nil as long as the read may go on.
    package let stop: @Sendable () -> ReadStop?

    /// - Parameter stop: Called on the thread of the read. After it has returned a reason, it is not called again.
    package init(_ stop: @escaping @Sendable () -> ReadStop?) { self.stop = stop }

    /// Lets a read work as long as it needs.
    package static let none = ReadLimit { nil }
}

/// Why a read stopped before it was done.
package enum ReadStop: Error, Hashable, Sendable {
    /// Nobody needs the result any more.
    case cancelled
    /// The read has worked as long as it may.
    case tookTooLong
}
