extension HostPlan {
    /// Whether a host with the other plan would do nothing else.
    func isLike(_ other: HostPlan) -> Bool { facts == other.facts && curve == other.curve }

    private var facts: [String?] {
        let log = [
            logDirectory, identity?.description, "\(sync)", "\(segmentBytesMax)", "\(snapshotBytes ?? 0)",
            "\(retention)",
        ]
        return log + [stage, settingsRecord, bind, upstream, inputLog, door, directory] + consumers + [""] + command
    }
}
