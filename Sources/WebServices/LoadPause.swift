import Glibc

/// A short pause between two messages to ingest. The requests that come during the pause share the next message. Ingest
/// gets fewer messages in this way, and they take less time together.
enum LoadPause {
    private static let microseconds: UInt32 = 1_000

    /// Pauses if the last message was for more than one request. A client that sends one request after the other is not
    /// delayed.
    static func pause(afterRequests count: Int) {
        if count > 1 { usleep(microseconds) }
    }
}
