import EventLog
import Events
import Inspect
import JSON
import PipelineRuntime
import Time

/// Checks whether every log exists with all its segments, and whether the last segments are undamaged. Reports dead
/// letters, crashes on the input that a stage reads next, and logs whose time is ahead of the clock.
struct LogsCheck: DoctorCheck {
    let name = "logs"

    static let clockFix =
        "if the clock is wrong, correct it (`timedatectl`); if the log's time is wrong, do nothing: the stages keep working "
        + "(the manual, Guarantees: The recorded time never goes back)"

    func findings(in target: DoctorTarget) throws -> [Finding] {
        guard let place = target.logsPath else { return [] }
        let logs = try LogPlace.logs(in: place)
        let pipeline = target.file.map { _ in target.path }
        let absent = try AbsentLogs.find(in: place, of: pipeline).map { Finding(.error, "log.missing", $0.message) }
        guard !logs.isEmpty else {
            return absent + [Finding(.note, "log.none", try LogPlace.noLogsMessage(in: place))]
        }
        var found: [Finding] = []
        var summaries: [LogSummary] = []
        for log in logs {
            let gap = try AbsentLogs.gap(ofLogAt: log)
            if let gap { found.append(Finding(.error, "log.gap", gap.message)) }
            do throws(EventLogError) {
                let summary = try EventLogs.summary(directory: log)
                summaries.append(summary)
                if gap == nil { found += try Self.damage(log) }
                found += try Self.findings(summary)
                if target.logs == nil { found += Self.ahead(summary, of: .wall()) }
            } catch {
                found.append(Self.damage(log, "\(LogPlace.name(ofLogAt: log)): \(error)"))
            }
        }
        let all = absent + found + [Self.elsewhere(target)].compactMap(\.self)
        return all.contains { $0.severity.isProblem } ? all : all + [Self.undamaged(summaries)]
    }

    /// Names the stages that this host does not run, because their logs are on other hosts. Nil without such stages.
    private static func elsewhere(_ target: DoctorTarget) -> Finding? {
        guard target.logs == nil, let file = target.file, let host = file.host else { return nil }
        let others = file.stagesInOrder.filter { !host.runs($0) }
        guard !others.isEmpty else { return nil }
        let texts = others.map { "\($0.name) (\(file.hosts(running: [$0]).joined(separator: ", ")))" }
        return Finding(
            .note, "log.elsewhere",
            "host \(host.name) has no logs of the stages that only other hosts run: \(texts.joined(separator: ", "))",
            fix: "run `belfry doctor` on these hosts too", ["stages": .list(others.map { .text($0.name) })])
    }

    private static func undamaged(_ logs: [LogSummary]) -> Finding {
        let events = logs.reduce(0) { $0 + $1.events }
        let bytes = logs.reduce(0) { $0 + $1.bytes }
        return Finding(
            .ok, "log.whole",
            "\(logs.count.of("log")), \(events.of("event")), \(byteText(bytes)); no segment is missing, and the last "
                + "segments are undamaged",
            ["logs": .count(logs.count), "events": .count(events), "bytes": .count(bytes)])
    }

    /// The damage that can be found quickly, without reading the whole log.
    private static func damage(_ log: String) throws(EventLogError) -> [Finding] {
        try EventLogs.verify(directory: log, onlyEnd: true).problems.map {
            damage(log, VerifyText.line(LogPlace.name(ofLogAt: log), $0))
        }
    }

    private static func damage(_ log: String, _ text: String) -> Finding {
        Finding(
            .error, "log.damaged", text,
            fix:
                "`belfry log verify \(log)` lists all damage, `belfry log repair \(log)` shows what a repair would lose",
            ["log": .text(LogPlace.name(ofLogAt: log))])
    }

    /// Warns if the last time of a log is more than ``LogTime/reportedLag`` ahead of the machine's clock.
    static func ahead(_ log: LogSummary, of wall: Instant) -> [Finding] {
        guard let last = log.lastNow, last - wall > LogTime.reportedLag else { return [] }
        return [
            Finding(
                .warning, "log.ahead",
                "\(log.name): its last time, \(last.rfc3339), is \(LogTime.text(last - wall)) ahead of the machine's clock",
                fix: clockFix, ["log": .text(log.name), "lastTime": .text(last.rfc3339)])
        ]
    }

    private static func findings(_ log: LogSummary) throws(EventLogError) -> [Finding] {
        var findings: [Finding] = []
        if log.hasTornTail {
            findings.append(
                Finding(
                    .note, "log.torn_tail",
                    "\(log.name) ends with an incomplete batch. Either the stage is writing it now, or a crash left it: then the "
                        + "stage removes it when it starts. The batches before it are complete",
                    ["log": .text(log.name)]))
        }
        if let crashes = try crashes(of: log) { findings.append(crashes) }
        if log.name.hasSuffix(LogPlace.deadLetters), log.events > 0 { findings.append(try deadLetters(in: log)) }
        return findings
    }
}

// MARK: - Crashes

extension LogsCheck {
    /// Warns if the stage's process crashed, once or several times in a row, on the input that it reads next.
    private static func crashes(of log: LogSummary) throws(EventLogError) -> Finding? {
        guard let upstream = try UpstreamNote.read(directory: log.directory)?.log else { return nil }
        let cursor = try EventLogs.cursor(directory: log.directory).positions[upstream] ?? 0
        guard let note = CrashNote.read(logDirectory: log.directory, of: log.identity, after: cursor),
            note.crashes > 0
        else { return nil }
        let (first, last) = (note.events.lowerBound, note.events.upperBound)
        let events = first == last ? "event \(first)" : "the events \(first) to \(last)"
        return Finding(
            .warning, "log.crashes",
            "\(log.name): the stage's process ended \(note.crashes.of("time")) while it processed \(events) of \(upstream)",
            fix:
                "read the stage's last messages on standard error; after three crashes it sets the event aside as a dead "
                + "letter",
            [
                "log": .text(log.name), "upstream": .text(upstream), "first": .count(first), "last": .count(last),
                "crashes": .count(note.crashes),
            ])
    }
}

// MARK: - Dead letters

extension LogsCheck {
    /// The check counts the codes of the newest dead letters of a log, at most this many.
    static let lettersMax: UInt64 = 1_000

    private static func deadLetters(in log: LogSummary) throws(EventLogError) -> Finding {
        let codes = try codes(in: log)
        let most = codes.prefix(5).map { "\($0.code.printable) \($0.count.grouped)" }.joined(separator: ", ")
        let newest = log.events > lettersMax ? "of the newest \(lettersMax.grouped): " : ""
        return Finding(
            .warning, "log.dead_letters",
            "\(log.name): \(log.events.of("dead letter")), the newest \(log.lastNow?.rfc3339 ?? "-") (\(newest)\(most))",
            fix:
                "`belfry dead-letters` lists and redrives them; log: { retention: { deadLetters: … } } removes old ones",
            [
                "log": .text(log.name), "deadLetters": .count(log.events),
                "codes": .object(codes.map { ReportValue.Member(key: $0.code, value: .count($0.count)) }),
            ])
    }

    /// The codes of the newest dead letters, the most frequent code first.
    private static func codes(in log: LogSummary) throws(EventLogError) -> [(code: String, count: Int)] {
        let first = max(log.firstSequence, log.lastSequence - min(log.lastSequence, lettersMax) + 1)
        let reader = try EventLogReader(directory: log.directory, from: .sequence(first))
        var parser = JSONParser(limits: JSONLimits(bytesMax: EventLogLimits.eventBytesMax, depthMax: 512))
        var counts: [String: Int] = [:]
        while let batch = try reader.next() {
            for line in Lines(EventLogReader.slice(batch.body, header: batch.header, from: first)) {
                counts[code(of: line, &parser), default: 0] += 1
            }
        }
        return counts.map { (code: $0.key, count: $0.value) }.sorted { ($1.count, $0.code) < ($0.count, $1.code) }
    }

    private static func code(of line: UnsafeRawBufferPointer, _ parser: inout JSONParser) -> String {
        do throws(JSONError) { return try parser.parse(line)[.code]?.string ?? "no code" } catch { return "not JSON" }
    }
}

extension LogSummary {
    /// How many events the log holds.
    var events: UInt64 { lastSequence + 1 - firstSequence }
}
