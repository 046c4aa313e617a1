import Foundation
import Synchronization
import TestSupport

/// Real files that lose unsynced bytes in a power failure.
final class SimulatedDisk: Sendable {
    struct State {
        var random: Seeded
        /// How many bytes of each file are durable.
        var durable: [String: Int] = [:]
        /// The created files that a power failure may remove, because neither they nor their folders were synced.
        var newFiles: Set<String> = []
        /// Whether some calls fail.
        var isFaulty = true
        /// How many of the next writes fail because the disk is full.
        var writesUntilRoom = 0
    }

    let faults: FaultCounts
    let state: Mutex<State>

    init(seed: UInt64, faults: FaultCounts) {
        self.faults = faults
        state = Mutex(State(random: Seeded(seed)))
    }

    var isFaulty: Bool { state.withLock { $0.isFaulty } }

    func stopFaults() { state.withLock { ($0.isFaulty, $0.writesUntilRoom) = (false, 0) } }

    /// Removes or zeroes unsynced bytes at the end of the files in a folder, and removes some of the new files. A file
    /// that no simulated call has created, truncated or synced keeps all its bytes.
    func losePower(under folder: String) throws {
        for (path, durable) in state.withLock({ $0.durable }).sorted(by: { $0.key < $1.key })
        where path.hasPrefix(folder + "/") {
            if losesName(of: path) { remove(path) } else { try loseBytes(of: path, after: durable) }
        }
    }

    private func losesName(of path: String) -> Bool {
        state.withLock { $0.newFiles.remove(path) != nil && $0.random.isOneIn(2) }
    }

    private func remove(_ path: String) {
        guard unlink(path) == 0 else { return }
        faults.note(.bytesLost)
        state.withLock { $0.durable[path] = nil }
    }

    private func loseBytes(of path: String, after durable: Int) throws {
        guard let file = FileHandle(forUpdatingAtPath: path) else { return }
        let size = Int(try file.seekToEnd())
        guard size > durable else { return }
        let (kept, isZeroed) = state.withLock { state in
            guard state.random.isOneIn(3) else { return (durable + state.random.below(size - durable + 1), false) }
            // The system writes pages. So the zeroed part begins at a page boundary or after the last synced byte.
            let pages = stride(from: (durable / 4096 + 1) * 4096, to: size, by: 4096)
            return (state.random.one(of: [durable] + pages), true)
        }
        guard kept < size else { return }
        faults.note(isZeroed ? .bytesZeroed : .bytesLost)
        try file.truncate(atOffset: UInt64(kept))
        if isZeroed { try file.truncate(atOffset: UInt64(size)) }
        try file.close()
        state.withLock { $0.durable[path] = isZeroed ? size : kept }
    }

    func path(of descriptor: CInt) -> String {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { name in
                name.baseAddress.map { readlink("/proc/self/fd/\(descriptor)", $0, name.count) } ?? 0
            }
        }
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
