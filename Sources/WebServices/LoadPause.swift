import Glibc

/// A short pause between two messages to ingest. During the pause more items come for the next message: fewer messages
/// with more items take less time together.
enum LoadPause {
    private static let microseconds: UInt32 = 1_000

    /// Pauses if the last message was for more than one item. A client that sends one request after the other is not
    /// delayed.
    static func pause(afterItems count: Int) {
        if count > 1 { usleep(microseconds) }
    }
}
