extension SnapshotStore {
    /// How many of the newest are kept whatever they weigh: the last one may turn out to be damaged.
    package static let newestKept = 2

    /// Removes snapshots until the rest fit a budget and are no more than so many, and those whose header cannot be
    /// read.
    ///
    /// The newest ``newestKept`` stay. Of the others, the one goes first whose loss leaves the smallest gap, in the
    /// upstream's sequences, between its neighbours: so those that stay are spread over the history.
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
