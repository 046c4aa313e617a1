import EventLog
import Foundation
import PipelineKit
import TestSupport

/// Checks the logs of a world after all its work is done.
struct Checks {
    private(set) var problems: [String] = []
    private let world: World

    init(_ world: World) throws {
        self.world = world
        try checkSoundness()
        problems += try DeclaredEvents.problems(inLogsUnder: world.folder.path + "/logs")
        try checkAcceptance()
        try checkDeadLetters()
        try checkConservation()
        try checkReplays()
    }

    private func directory(_ stage: PipelineStage) -> String { world.folder.path + "/logs/" + stage.logName }

    private mutating func checkSoundness() throws {
        for stage in world.file.stagesInOrder {
            let report = try EventLogs.verify(directory: directory(stage))
            if !report.isSound {
                problems.append("\(stage.logName): \(report.problems) \(report.tornTail.debugDescription)")
            }
        }
    }

    /// The log of changes must contain the expected events of each producer once, in order, and no other events.
    private mutating func checkAcceptance() throws {
        var left = world.producers.map { $0.load.expectedEvents[...] }
        for (index, event) in try LogLines.read(directory(world.file.sourceStage)).enumerated() {
            let sender = left.firstIndex { $0.first.map { event.hasPrefix($0.dropLast()) } ?? false }
            guard let sender else {
                problems.append("change \(index + 1) is not the next expected event of any producer: \(event)")
                return
            }
            left[sender].removeFirst()
        }
        for (producer, missing) in zip(world.producers, left) where !missing.isEmpty {
            problems.append("\(producer.name): \(missing.count) events are lost, first \(missing[missing.startIndex])")
        }
    }

    /// Each event that match rejected must be in its dead letters once, in order.
    private mutating func checkDeadLetters() throws {
        let stages = world.file.stagesInOrder
        let changes = try LogLines.read(directory(stages[0]))
        let expected = changes.indices.filter {
            RejectingMatch.rejects(
                changes[$0].hasPrefix("{\"type\":\"record.save\"") ? "record.save" : "", UInt64($0 + 1))
        }.map { $0 + 1 }
        let letters = try LogLines.read(directory(stages[1]) + ".dead-letters")
        let key = "\"log\":\"changes\",\"sequence\":"
        let found = letters.compactMap { letter in
            letter.range(of: key).flatMap { Int(letter[$0.upperBound...].prefix { $0.isNumber }) }
        }
        if found != expected { problems.append("dead letters: \(found), expected \(expected)") }
    }

    private mutating func checkConservation() throws {
        let stages = world.file.stagesInOrder
        let logs = try stages.map { try LogLines.read(directory($0)) }
        var conservation = try Conservation(
            changes: logs[0], matches: logs[1], notifications: logs[2], pushes: logs[3], outcomes: logs[4])
        conservation.check(world.transports)
        problems += conservation.problems
    }

    private mutating func checkReplays() throws {
        for stage in world.file.stagesInOrder where stage.from != nil {
            guard let upstream = world.file.upstream(of: stage), let type = Registry.simulated.stages[stage.kind] else {
                continue
            }
            let replay = try ReplayCheck(
                stage, type, upstreamLog: directory(upstream), ownLog: directory(stage))
            if let difference = replay.difference { problems.append("replay of \(stage.logName): \(difference)") }
        }
    }
}

/// A log's events as text.
enum LogLines {
    static func read(_ directory: String) throws -> [String] {
        let reader = try EventLogReader(directory: directory, from: .beginning)
        var events: [String] = []
        while let batch = try reader.next() {
            events += String(decoding: batch.body, as: UTF8.self).split(separator: "\n").map(String.init)
        }
        return events
    }
}
