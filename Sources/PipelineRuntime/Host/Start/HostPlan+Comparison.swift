import PipelineKit

extension HostPlan {
    /// The keys of the pipeline file by which the two differ, as `log.sync`, `bind`, `transports.apns.attempts`; those that
    /// concern all stages first. Where there are none, a host with the other plan would do nothing else.
    package func keysThatDiffer(from other: HostPlan) -> [String] {
        let log = [
            ("data.mode", mode == other.mode), ("seed", identity == other.identity), ("log.sync", sync == other.sync),
            ("log.segmentBytes", segmentBytesMax == other.segmentBytesMax),
            ("log.snapshotBytes", snapshotBytes == other.snapshotBytes),
            ("log.retention", retention == other.retention),
        ]
        let links = [
            ("bind", bind == other.bind), ("door", door == other.door), ("curve", curve == other.curve),
            ("command", command == other.command), ("directory", directory == other.directory),
            ("its upstream's bind", upstream == other.upstream), ("its readers", consumers == other.consumers),
        ]
        let settings = SettingsDifference.keys(of: settingsRecord, other.settingsRecord)
        return (log + links).filter { !$0.1 }.map(\.0) + settings
    }

    /// What stands in the way of a host with another plan that goes on from this one's log, in this one's process.
    func obstacle(to next: HostPlan) -> ReloadError? {
        if next.logDirectory != logDirectory { return .otherLog(next.logDirectory, present: logDirectory) }
        if next.inputLog != inputLog {
            return .otherUpstream(next.inputLog ?? "no log", present: inputLog ?? "no log")
        }
        return next.command.isEmpty == command.isEmpty ? nil : .otherProgram
    }
}
