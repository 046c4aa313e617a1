import EventLog
import Foundation
import PipelineKit

/// Refuses to run the stages of a lane beside logs of another number of lanes. Some users' past would then be in another
/// lane, and old changes would be matched again.
struct LanesCheck: Sendable {
    private let lane: Lane?
    /// The name of the first log of each lane, without the lane's number.
    private let log: String
    private let logs: String
    private let settings: SettingsReader

    /// Nil for a stage that would be in no lane.
    init?(_ stage: PipelineStage, of file: PipelineFile) {
        var first = stage
        while !first.canBeginLane {
            guard let upstream = file.upstream(of: first) else { return nil }
            first = upstream
        }
        lane = first.lane
        log = String(first.logName.dropLast(lane?.suffix.count ?? 0))
        logs = file.data + "/logs"
        settings = file.settings
    }

    /// - Throws: ``SettingsError`` if there are logs of another number of lanes.
    func callAsFunction() throws {
        let count = lane?.count ?? 1
        guard let found = try found(besides: count) else { return }
        throw settings.fail(
            "lanes",
            "\(lane == nil ? "is missing" : "is \(count)"), but the logs in \(logs) were written with "
                + (found == 1 ? "no lanes" : "\(found) lanes")
                + ": the number cannot change during the life of the logs",
            hint: (found == 1 ? "leave `lanes` out" : "write 'lanes: \(found)'") + ", or choose another `data` folder")
    }

    private func found(besides count: Int) throws -> Int? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: logs)) ?? []
        for name in names.sorted() {
            if name == log, count > 1 { return 1 }
            guard name.hasPrefix(log + "."), name.dropFirst(log.count + 1).allSatisfy(\.isNumber) else { continue }
            let history = try SettingsHistory(logDirectory: logs + "/" + name)
            var reader = history.entries.last.flatMap(history.reader)
            guard let lane = try reader?.optionalString(PipelineStage.laneKey).flatMap({ Lane($0) }) else { continue }
            if lane.count != count { return lane.count }
        }
        return nil
    }
}
