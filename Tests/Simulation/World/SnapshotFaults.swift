import Foundation
import TestSupport

/// Removes, damages and replaces snapshots. This may delay a stage, but must not lose events.
final class SnapshotFaults {
    private let folder: String
    private let faults: FaultCounts
    private var random: Seeded

    init(_ folder: String, seed: UInt64, _ faults: FaultCounts) {
        self.folder = folder
        self.faults = faults
        random = Seeded(seed)
    }

    /// In about one of four calls, removes or damages the newest snapshot of a log, or replaces it by a snapshot of
    /// another log. The log's stage must be down.
    func disturbSnapshot(of log: String) {
        guard random.isOneIn(4), let victim = newest(of: log) else { return }
        switch random.below(3) {
        case 0:
            if unlink(victim) == 0 { faults.note(.snapshotLost) }
        case 1: damage(victim)
        default: replace(victim)
        }
    }

    private func newest(of log: String) -> String? {
        let place = "\(folder)/\(log)/snapshots"
        guard let entries = FileManager.default.enumerator(atPath: place) else { return nil }
        return entries.compactMap { $0 as? String }.filter { $0.hasSuffix(".snapshot") }.max().map { place + "/" + $0 }
    }

    private func damage(_ path: String) {
        guard var bytes = FileManager.default.contents(atPath: path), !bytes.isEmpty else { return }
        bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
        if random.isOneIn(2) { bytes = bytes.prefix(random.below(bytes.count)) }
        if FileManager.default.createFile(atPath: path, contents: bytes) { faults.note(.snapshotDamaged) }
    }

    private func replace(_ path: String) {
        let other = random.one(of: ["matches", "notifications", "pushes", "outcomes"])
        guard let bytes = newest(of: other).flatMap({ FileManager.default.contents(atPath: $0) }),
            !path.contains("/\(other)/")
        else { return }
        if FileManager.default.createFile(atPath: path, contents: bytes) { faults.note(.snapshotForeign) }
    }
}
