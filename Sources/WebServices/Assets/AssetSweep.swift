import Foundation
import RecordStore
import ZeroMQ

/// Removes the files of assets to which no record refers. References of deleted records do not count.
struct AssetSweep: Sendable {
    let assets: AssetFolder
    let store: RecordStore

    /// In seconds. Files that were sent or referred to less than this time ago are kept, because a client may send a
    /// file long before it saves the record. Longer than ``AssetTickets/receiptLife``.
    static let ageMin: TimeInterval = 24 * 3_600
    private static let pauseMilliseconds = 3_600_000

    /// - Returns: The names of the removed files.
    @discardableResult
    func run(at now: Date) throws -> [String] {
        let limit = now.addingTimeInterval(-Self.ageMin)
        let unused = try store.unreferencedAssets(among: try assets.names(before: limit))
        return try unused.filter { try assets.remove($0, savedBefore: limit) }
    }

    /// Removes files every hour until the gateway stops.
    ///
    /// - Parameters:
    ///   - isStoreCurrent: Whether the store has all changes. Otherwise no file is removed, because the store may lack
    ///     the record of a file.
    ///   - onError: Called with an error. The sweep tries again after an hour.
    func run(
        _ wake: WakeSignal, while mayRun: () -> Bool, isStoreCurrent: () -> Bool, onError: (any Error) -> Void
    ) throws {
        let poller = ZMQPoller()
        poller.add(wake)
        while mayRun() {
            if isStoreCurrent() {
                do { try run(at: Date()) } catch { onError(error) }
            }
            _ = try poller.poll(timeoutMilliseconds: Self.pauseMilliseconds)
            wake.clear()
        }
    }
}
