import Foundation
import RecordStore
import ZeroMQ

/// Removes files that no living record refers to.
struct AssetSweep: Sendable {
    let assets: AssetFolder
    let store: RecordStore

    /// A file may be sent long before its record is saved.
    static let age: TimeInterval = 24 * 3_600
    private static let pauseMilliseconds = 3_600_000

    /// - Returns: The checksums of the removed files.
    @discardableResult
    func run(at now: Date) throws -> [String] {
        let old = try assets.checksums(before: now.addingTimeInterval(-Self.age))
        let unused = try store.unreferencedAssets(among: old)
        for checksum in unused { try assets.remove(checksum) }
        return unused
    }

    /// Removes files every hour until the gateway stops.
    ///
    /// - Parameters:
    ///   - isStoreCurrent: A store that lacks changes may lack the record of a file.
    ///   - onError: Gets an error; the next hour tries again.
    func run(
        _ wake: WakeSignal, while goesOn: () -> Bool, isStoreCurrent: () -> Bool, onError: (any Error) -> Void
    ) throws {
        let poller = ZMQPoller()
        poller.add(wake)
        while goesOn() {
            if isStoreCurrent() {
                do { try run(at: Date()) } catch { onError(error) }
            }
            _ = try poller.poll(timeoutMilliseconds: Self.pauseMilliseconds)
            wake.clear()
        }
    }
}
