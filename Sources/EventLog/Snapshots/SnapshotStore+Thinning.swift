extension SnapshotStore {
    /// How many of the newest snapshots with readable headers ``thin(bytesMax:countMax:)`` keeps. One is not enough,
    /// because its state may be damaged.
    package static let newestKept = 2

    /// Removes all snapshots with unreadable headers, and then other snapshots until the rest fits both limits.
    ///
    /// The newest ``newestKept`` stay, even beyond the limits. Of the others, the method always removes the snapshot
    /// whose removal leaves the smallest gap between upstream sequences. So the remaining snapshots are spread over
    /// the history.
    package func thin(bytesMax: UInt64, countMax: Int = .max) throws(EventLogError) {
        var kept: [(file: SnapshotFile, position: UInt64)] = []
        for file in try list() {
            if let header = file.header { kept.append((file, header.position)) } else { try remove(file) }
        }
        var total = kept.reduce(0) { $0 + $1.file.bytes }
        while total > bytesMax || kept.count > countMax, kept.count > SnapshotStore.newestKept {
            let least = kept.indices.dropLast(SnapshotStore.newestKept).min { gap(without: $0) < gap(without: $1) }
            guard let least else { return }
            try remove(kept[least].file)
            total -= kept.remove(at: least).file.bytes
        }

        func gap(without index: Int) -> UInt64 {
            let before = index == 0 ? 0 : kept[index - 1].position
            let after = kept[index + 1].position
            return after > before ? after - before : 0
        }
    }
}
