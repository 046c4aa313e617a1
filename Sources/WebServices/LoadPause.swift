import Glibc

/// A short pause between two messages to ingest. The requests that come during the pause share the next message. So
/// ingest gets fewer messages, which take less time in total.
enum LoadPause {
    private static let microseconds: UInt32 = 1_000

    /// Pauses if the last message was for more than one request. A single client that sends one request after the
    /// other is not delayed.
    static func pause(afterRequests count: Int) {
        if count > 1 { usleep(microseconds) }
    }
}
