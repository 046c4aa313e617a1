import PipelineKit

extension HostPlan {
    /// The keys of the pipeline file whose values differ, such as `log.sync`, `bind`, `transports.apns.attempts`. Keys
    /// that apply to all stages come first. Empty if a host with the other plan would do the same.
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

    /// Why a host with the plan `next` cannot continue with this plan's log in this process; nil if it can.
    func obstacle(to next: HostPlan) -> ReloadError? {
        if next.logDirectory != logDirectory { return .otherLog(next.logDirectory, present: logDirectory) }
        if next.inputLog != inputLog {
            return .otherUpstream(next.inputLog ?? "no log", present: inputLog ?? "no log")
        }
        return next.command.isEmpty == command.isEmpty ? nil : .otherProgram
    }
}
