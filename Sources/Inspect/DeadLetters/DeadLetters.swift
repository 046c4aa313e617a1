import PipelineKit
import StageTool

/// A pipeline's dead letters, and for each letter whether it can be redriven.
package struct DeadLetters {
    package let logs: RecordedLogs
    /// Sorted by stage, in the order of the stages. Of a deliver stage, the rejected events come before
    /// the pushes. Otherwise the letters have the order of their log.
    private(set) var letters: [RedriveCandidate] = []
    /// Whether some letters were left out because there are too many.
    let isCut: Bool
    /// See ``RedriveEligibility/includesRedriven``.
    let includesRedriven: Bool

    /// - Throws: ``ToolFailure`` if the filter names an unknown stage or code. Also throws if a log cannot be read, or
    ///   if the setting `transports` of a deliver stage is invalid.
    package init(_ logs: RecordedLogs, _ filter: DeadLetterFilter, _ eligibility: RedriveEligibility) throws {
        let pipeline = CheckedPipeline(path: logs.folder, file: logs.file)
        var filter = filter
        filter.stage = try filter.stage.flatMap { try pipeline.stages($0).map(\.name) }
        var eligibility = eligibility
        eligibility.changesLog = logs.stages[0].logName
        if logs.isFileGiven { eligibility.transports = try Self.transports(of: logs) }
        let changes = logs.log(of: logs.stages[0])
        let range = try DeadLetterRange(from: filter.from, until: filter.until, in: changes)
        var progress = ReadingProgress(total: try Self.bytes(of: logs))
        defer { progress.end() }
        var codes: Set<String> = []
        let isWanted = { (letter: DeadLetter) in
            codes.insert(letter.code)
            return filter.mayAccept(letter) && range.contains(letter)
        }
        var found = try DeadLetterReader(logs: logs).read(where: isWanted) { progress.add($0) }
        try filter.checkCodes(codes)
        (self.logs, isCut, includesRedriven) = (logs, found.isCut, eligibility.includesRedriven)
        guard !found.letters.isEmpty else { return }
        let commands = try CommandHistory(found.letters, in: changes) { progress.add($0) }
        var letters = found.letters
        found.letters = []
        for index in letters.indices { commands.complete(&letters[index]) }
        var outcomes: [String: OutcomeHistory] = [:]
        for stage in logs.file.stagesInOrder where stage.writes == .outcomes {
            outcomes[stage.name] = try Self.complete(&letters, of: stage, logs) { progress.add($0) }
        }
        letters.removeAll { !filter.accepts($0) }
        self.letters = eligibility.candidates(letters, &outcomes)
    }

    private static func transports(of logs: RecordedLogs) throws -> [String: Set<String>] {
        var names: [String: Set<String>] = [:]
        for stage in logs.file.stagesInOrder where stage.writes == .outcomes {
            var settings = stage.settings
            names[stage.name] = Set(try settings.mappings("transports").map(\.name))
        }
        return names
    }

    /// Completes the letters of a deliver stage's pushes, from the logs of this stage and of its upstream.
    private static func complete(
        _ letters: inout [DeadLetter], of stage: PipelineStage, _ logs: RecordedLogs, _ progress: (UInt64) -> Void
    ) throws -> OutcomeHistory? {
        let indices = letters.indices.filter { letters[$0].isPush && letters[$0].stage == stage.name }
        guard !indices.isEmpty, let own = logs.existingLog(of: stage),
            let before = logs.file.upstream(of: stage), let upstream = logs.existingLog(of: before)
        else { return nil }
        var pushes = try PushHistory(indices.map { letters[$0] }, in: upstream, progress)
        let outcomes = try OutcomeHistory(of: own, &pushes, upstream: before.logName, progress)
        for (number, index) in indices.enumerated() {
            pushes.complete(&letters[index], number)
            outcomes.complete(&letters[index])
        }
        return outcomes
    }

    /// An estimate of the bytes to read, for the progress display.
    private static func bytes(of logs: RecordedLogs) throws -> UInt64 {
        try logs.file.stagesInOrder.reduce(0) { sum, stage in
            let deadLetterLog = logs.log(of: stage) + LogPlace.deadLetters
            let own = stage.from == nil || stage.writes == .outcomes ? logs.existingLog(of: stage) : nil
            return try sum
                + [own, LogPlace.isLog(deadLetterLog) ? deadLetterLog : nil].compactMap { $0 }.reduce(0) {
                    try $0 + LogPlace.bytes(of: $1)
                }
        }
    }
}
