import PipelineKit

extension HostPlan {
    /// What differs from the other plan: keys of the pipeline file, such as `log.sync`, `bind` and
    /// `transports.apns.attempts`. The texts `the upstream's bind` and `the readers` stand for differences that other
    /// parts of the file cause. Keys that apply to all stages come first. Empty if a host with the other plan would
    /// work in exactly the same way.
    package func keysThatDiffer(from other: HostPlan) -> [String] {
        let keysOfAllStages = [
            ("data.mode", mode == other.mode), ("seed", identity == other.identity), ("log.sync", sync == other.sync),
            ("log.segmentBytes", segmentBytesMax == other.segmentBytesMax),
            ("log.snapshotBytes", snapshotBytes == other.snapshotBytes),
            ("log.retention", retention == other.retention), ("hosts", hosts == other.hosts),
        ]
        let keysOfThisStage = [
            ("bind", bind == other.bind), ("door", door == other.door), ("curve", curve == other.curve),
            ("command", command == other.command), ("directory", directory == other.directory),
            ("the upstream's bind", upstream == other.upstream), ("the readers", consumers == other.consumers),
        ]
        let settings = SettingsDifference.keys(of: settingsRecord, other.settingsRecord)
        return (keysOfAllStages + keysOfThisStage).filter { !$0.1 }.map(\.0) + settings
    }

    /// Why a host with the plan `next` cannot continue with this plan's log in this process; nil if it can.
    func obstacle(to next: HostPlan) -> ReloadError? {
        if next.logDirectory != logDirectory { return .otherLog(next.logDirectory, current: logDirectory) }
        if next.inputLog != inputLog {
            return .otherUpstream(next.inputLog ?? "no log", current: inputLog ?? "no log")
        }
        return next.command.isEmpty == command.isEmpty ? nil : .otherProgram
    }
}
